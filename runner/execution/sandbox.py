"""Confines untrusted programs: runs them in bubblewrap, with limits.

A sandboxed program runs as an unprivileged user, in user, process, network, IPC and host-name namespaces of its own. It
sees the system's programs and libraries (read-only), a private ``/tmp``, and its own tree, to which it can write. The
counters stay outside (see ``runner/perf/perf_stat.py``), so the sandbox does not change a count.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import FaultwatchError
from runner.execution.launcher import Confinement
from runner.execution.system_call_filter import load_libseccomp, open_filter
from runner.system.home_folder import expand_home
from runner.system.real_path import resolve_links
from runner.system.tree_walk import walk_tree
from runner.variables import get_value

_SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS_FILES = (
    *("alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "locale.alias"),
    *("localtime", "magic", "magic.mime", "malloc.conf", "maven/logging", "maven/m2.conf", "mime.types"),
    *("nsswitch.conf", "os-release", "passwd", "perl", "protocols", "services", "ssl/openssl.cnf", "timezone"),
)
_LANGUAGE_FOLDERS = ("java*", "python3*", "R")
"""Folders of ``/etc`` that stay visible. Maven's ``settings.xml`` does not, because it can contain passwords. The
visible part is what programs need to start, what compilers need to find each other, and the targets of links in
``/usr``, such as ``sitecustomize.py``: without these, an interpreter would take different faults than outside the
sandbox."""
NAMESPACES = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    "--die-with-parent",
)
_KERNEL_FOLDER = Path("/sys/kernel")
_MIB = 1 << 20
MAX_TASKS = 1024
"""The largest number of processes and threads of all programs of a case."""
MAX_FILE_BYTES = 4096 * _MIB
"""The largest size of a file that a program writes."""
MAX_TREE_BYTES = 8192 * _MIB
"""How many bytes a tree may grow by while a program runs in it."""
MAX_TMP_BYTES = 1024 * _MIB
"""The largest size of each folder in memory that programs may write to, such as ``/tmp``, over all sandboxes of a
case."""
_MAX_MEMORY_SHARE = 0.75
"""The share of this machine's memory that the programs of a case may use; the rest is left for the host."""
_OTHER_REMEDY = "if you trust the code, pass --no-sandbox"


class Sandbox(Struct, frozen=True):
    """How programs are confined.

    Attributes
    ----------
    user, group
        The user and group of the program if the runner is root; -1 for the runner's own.
    readable_folders
        Further readable folders, such as that of a compiler outside of ``/usr``. Those that do not exist are left out.
    empty_folders
        Writable, initially empty folders, such as a cache folder that the program expects.
    sandbox_count
        The number of sandboxes of a case, which share the limits equally; 1 if a control group limits them together.
    """

    user: int = -1
    group: int = -1
    readable_folders: tuple[str, ...] = ()
    empty_folders: tuple[str, ...] = ()
    sandbox_count: int = 1

    @property
    def keeps_user(self) -> bool:
        """Whether programs run as the runner's own user, because the runner is not root."""
        return self.user < 0

    @property
    def memory(self) -> int:
        """Bytes that the programs of a case may use together; without a control group, the bytes for each process."""
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MAX_MEMORY_SHARE)

    @property
    def confinement(self) -> Confinement:
        """The limits for the launcher to set."""
        return Confinement(
            processes=MAX_TASKS // self.sandbox_count,
            file_bytes=MAX_FILE_BYTES,
            data_bytes=self.memory // self.sandbox_count,
            user=self.user,
            group=self.group,
        )

    def is_visible(self, file: Path) -> bool:
        """Return whether the sandbox shows a file of the system; for a link, whether it shows the target as well."""
        visible_folders = [
            *(Path("/", name) for name in _SYSTEM_FOLDERS),
            *map(Path, self.readable_folders),
            *_list_visible_settings(),
        ]
        # A folder that is a link is shown with the content of its target.
        target_folders = [*visible_folders, *map(resolve_links, self.readable_folders)]
        return _is_in_any(file, visible_folders) and _is_in_any(resolve_links(file), target_folders)

    def is_visible_in_tree(self, tree: Path, file: Path) -> bool:
        """Return whether a program that runs in a tree sees a file of the tree or of the system."""
        return replace(self, readable_folders=(*self.readable_folders, str(tree), str(tree.resolve()))).is_visible(file)

    def select_visible_path(self, path: str) -> str:
        """Return a ``PATH`` without the folders that a program in the sandbox cannot see."""
        return os.pathsep.join(folder for folder in path.split(os.pathsep) if self.is_visible(Path(folder)))

    def add_readable_folder(self, folder: Path | None) -> "Sandbox":
        """Return a sandbox that shows one more folder, read-only."""
        return self if folder is None else replace(self, readable_folders=(*self.readable_folders, str(folder)))

    def build_command_prefix(
        self, tree: Path, launcher: Path, filter_descriptor: int, copies: Mapping[str, Path] = MappingProxyType({})
    ) -> list[str]:
        """Return the words that precede the launcher's command line, so that the program runs sandboxed in the tree.

        Parameters
        ----------
        filter_descriptor
            Descriptor of :meth:`open_system_call_filter`, which bubblewrap must inherit.
        copies
            The copies to mount over files, by the path of the original.
        """
        mounts = [word for file, copy in copies.items() for word in ("--ro-bind", str(copy), file)]
        file_options = (*self._list_view_options(tree, launcher), *mounts)
        options = (*self._list_namespace_options(), *file_options, "--seccomp", str(filter_descriptor))
        return ["bwrap", *options, "--chdir", str(tree), "--"]

    def open_system_call_filter(self) -> AbstractContextManager[int]:
        """Yield a descriptor from which one bubblewrap reads the filter that denies system calls."""
        return open_filter(no_user_namespaces=self.keeps_user and not _can_forbid_user_namespaces())

    def change_owner(self, tree: Path) -> None:
        """Make the program's user the owner of the tree, unless that is the runner's own user.

        Raises
        ------
        OSError
            The kernel refuses.
        TreeTooLarge
            The tree has too many files.
        """
        if self.keeps_user:
            return
        os.chown(tree, self.user, self.group, follow_symlinks=False)
        for entry in walk_tree(tree):
            os.chown(entry.path, self.user, self.group, follow_symlinks=False)

    def seal(self, pid: int, launcher: Path) -> None:
        """Forbid a process to create user namespaces, in which it could reach more of the kernel.

        Raises
        ------
        FaultwatchError
            If the kernel refuses.
        """
        if self.keeps_user:
            return  # bubblewrap has done this already.
        result = subprocess.run([launcher, "seal", str(pid)], check=False, capture_output=True, text=True)
        if result.returncode:
            raise FaultwatchError(
                f"the sandbox cannot be locked down: {result.stderr.strip()}", "run `faultwatch doctor`"
            )

    def _list_namespace_options(self) -> Iterator[str]:
        """Yield the options of bubblewrap for namespaces and capabilities."""
        yield from NAMESPACES
        if self.keeps_user:
            yield from ("--unshare-user", *(["--disable-userns"] if _can_forbid_user_namespaces() else []))
        else:
            # Root sets up the view, because only root may reach the tree. The launcher needs these capabilities to
            # change its user, and to kill the processes of this user.
            yield from ("--cap-drop", "ALL")
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
                yield from ("--cap-add", capability)

    def _list_view_options(self, tree: Path, launcher: Path) -> Iterator[str]:
        """Yield the options of bubblewrap that decide which files a program sees."""
        yield from list_system_options()
        yield from _hide_kernel_folder()
        for folder in ("/tmp", "/dev/shm", *self.empty_folders):  # noqa: S108 - the sandbox's own
            size = ("--perms", "1777", "--size", str(MAX_TMP_BYTES // self.sandbox_count))
            yield from (*list_parent_options(Path(folder)), *size, "--tmpfs", folder)
        for folder in self.readable_folders:
            yield from (*list_parent_options(Path(folder)), "--ro-bind-try", folder, folder)
        yield from (*list_parent_options(launcher), "--ro-bind", str(launcher), str(launcher))
        yield from (*list_parent_options(tree), "--bind", str(tree), str(tree))
        # Hide the kernel's addresses, and its command line, which may contain secrets.
        for file in ("/proc/kallsyms", "/proc/cmdline"):
            yield from ("--ro-bind", "/dev/null", file)
        # Last, make bubblewrap's own folders read-only, because a program could fill them without limit.
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def _is_in_any(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def list_system_options() -> Iterator[str]:
    """Yield the options that show the system's programs and libraries and the visible part of ``/etc``, read-only."""
    for name in _SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--perms", "0755", "--dir", "/etc")
    for file in _list_visible_settings():
        if file.parent != Path("/etc"):  # bubblewrap itself would create the folder for root only.
            yield from list_parent_options(file)
        # A link stays a link: programs read the name of the time zone from the target of /etc/localtime.
        if file.is_symlink() and Path(os.path.normpath(file.parent / file.readlink())).is_relative_to("/usr"):
            yield from ("--symlink", str(file.readlink()), str(file))
        else:
            yield from ("--ro-bind-try", str(file), str(file))
    # Allocators and runtimes read the processors and huge pages from /sys, and allocate accordingly.
    yield from ("--ro-bind", "/sys", "/sys", "--proc", "/proc", "--dev", "/dev")


def _list_visible_settings() -> Iterator[Path]:
    """Yield the visible part of ``/etc``."""
    yield from (Path("/etc", name) for name in _SETTINGS_FILES)
    for pattern in _LANGUAGE_FOLDERS:
        yield from sorted(Path("/etc").glob(pattern))


def _hide_kernel_folder() -> Iterator[str]:
    """Yield the options that hide ``/sys/kernel``, except for the memory settings in ``mm`` that allocators read.

    The folder serves as the lock of the host (``runner/host/host_lock.py``): a program that could open it could take
    the lock and keep every other command from measuring.
    """
    if _KERNEL_FOLDER.is_dir():
        memory = str(_KERNEL_FOLDER / "mm")
        yield from ("--perms", "0755", "--tmpfs", str(_KERNEL_FOLDER), "--ro-bind-try", memory, memory)
        yield from ("--remount-ro", str(_KERNEL_FOLDER))


def list_parent_options(path: Path) -> Iterator[str]:
    """Yield the options that create the parent folders of a path, empty, and accessible for another user."""
    for folder in reversed(path.parents[:-1]):
        if folder.parts[1] != "usr":  # All of /usr is shown, read-only.
            yield from ("--perms", "0755", "--dir", str(folder))


def create_sandbox() -> Sandbox:
    """Return the sandbox of this host.

    Raises
    ------
    FaultwatchError
        bubblewrap or user namespaces are missing, or ``FAULTWATCH_SANDBOX_USER`` names no user or root; the message
        says what to do.
    """
    folders = filter(None, get_value("FAULTWATCH_SANDBOX_READ").split(":"))
    readable_folders = tuple(str(expand_home(folder).absolute()) for folder in folders)
    if os.geteuid() != 0:
        sandbox = Sandbox(readable_folders=readable_folders)
    else:
        name = get_value("FAULTWATCH_SANDBOX_USER") or "nobody"
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            raise FaultwatchError(
                f"FAULTWATCH_SANDBOX_USER: there is no user {name!r}", "name a user of this host"
            ) from None
        if user.pw_uid == 0:
            raise FaultwatchError("FAULTWATCH_SANDBOX_USER: root is not an unprivileged user", "name another user")
        sandbox = Sandbox(user.pw_uid, user.pw_gid, readable_folders)
    _check_sandbox(sandbox)
    return sandbox


@lru_cache
def _check_sandbox(sandbox: Sandbox) -> None:
    """Raise if bubblewrap cannot create a sandbox on this host."""
    if shutil.which("bwrap") is None:
        raise FaultwatchError(
            "bubblewrap is not installed, or bwrap is not on PATH",
            f"Debian and Ubuntu: apt install bubblewrap; or, {_OTHER_REMEDY}",
        )
    try:
        load_libseccomp()
    except FaultwatchError as error:
        raise FaultwatchError(error.what, f"{error.remedy}; or, {_OTHER_REMEDY}") from None
    # If the runner is root, the launcher creates the user namespace later; check here that it can.
    namespaces = list(sandbox._list_namespace_options()) if sandbox.keeps_user else ["--unshare-user"]
    with sandbox.open_system_call_filter() as filter_descriptor:
        command = ["bwrap", *namespaces, "--ro-bind", "/", "/", "--seccomp", str(filter_descriptor), "--", "true"]
        result = subprocess.run(command, check=False, capture_output=True, text=True, pass_fds=[filter_descriptor])
    if result.returncode:
        message = result.stderr.strip().rpartition("\n")[2]
        raise FaultwatchError(
            f"bubblewrap cannot create a sandbox on this host: {message}",
            f"a sandbox needs user namespaces (sysctl user.max_user_namespaces); or, {_OTHER_REMEDY}",
        )


@lru_cache
def _can_forbid_user_namespaces() -> bool:
    """Return whether this bubblewrap can forbid further user namespaces; versions before 0.8 cannot."""
    return "--disable-userns" in subprocess.run(["bwrap", "--help"], check=False, capture_output=True, text=True).stdout
