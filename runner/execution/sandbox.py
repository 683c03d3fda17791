"""A sandbox for code of strangers: bubblewrap around a program, and what the program is held to in it.

A program in it is an unprivileged user in user, process, network, IPC and host-name namespaces of its own. It sees the
system's programs and libraries read-only, a private ``/tmp``, and its own tree, which is all it can write. The counters
stay outside (see ``runner/perf/session.py``), so the sandbox does not change a count.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from runner.errors import FaultwatchError
from runner.execution.launch import Confinement
from runner.execution.system_call_filter import filter_descriptor
from runner.system.tree_walk import walk

_ROOTS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = (
    *("alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "localtime"),
    *("malloc.conf", "nsswitch.conf", "passwd"),
)
"""All that is there of ``/etc``: what programs need to start and compilers to find each other."""
_NAMESPACES = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    "--die-with-parent",
)
_MIB = 1 << 20
PROCESSES = 1024
FILE_BYTES = 4096 * _MIB
TREE_BYTES = 8192 * _MIB
"""By how much a tree may grow while a program runs in it."""
TMP_BYTES = 1024 * _MIB
_MEMORY_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How programs are confined.

    Attributes
    ----------
    user, group
        Who the program is where the runner is root; -1 where it stays the runner's own user.
    readable
        Folders that can be read besides the system's, such as a compiler outside of ``/usr``.
    """

    user: int = -1
    group: int = -1
    readable: tuple[str, ...] = ()

    @property
    def memory(self) -> int:
        """Bytes that a program may use, with all it starts where a control group can be made, else for itself."""
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MEMORY_SHARE)

    @property
    def confinement(self) -> Confinement:
        """What the launcher is to hold the program to."""
        return Confinement(PROCESSES, FILE_BYTES, self.memory, self.user, self.group)

    def enter(
        self, tree: Path, launcher: Path, denied: int, copies: Mapping[str, Path] = MappingProxyType({})
    ) -> list[str]:
        """Return what stands before the launcher's command line; the program runs in the tree.

        Parameters
        ----------
        denied
            Descriptor of :meth:`denied`, which bubblewrap must inherit.
        copies
            What the program finds in place of files, by the files' paths.
        """
        laid = [word for file, copy in copies.items() for word in ("--ro-bind", str(copy), file)]
        view = (*self._view(tree, launcher), *laid, "--seccomp", str(denied))
        return ["bwrap", *self._namespaces(), *view, "--chdir", str(tree), "--"]

    def denied(self) -> AbstractContextManager[int]:
        """Yield the descriptor of the system calls that are denied, for one program."""
        return filter_descriptor(no_user_namespaces=self.user < 0 and not _can_disable())

    def give(self, tree: Path) -> None:
        """Let the program own its tree, where it is another user."""
        if self.user < 0:
            return
        os.chown(tree, self.user, self.group, follow_symlinks=False)
        for entry in walk(tree):
            os.chown(entry.path, self.user, self.group, follow_symlinks=False)

    def seal(self, process: int, launcher: Path) -> None:
        """Let the program make no user namespaces of its own: in them it could reach more of the kernel.

        Raises
        ------
        FaultwatchError
            Where the kernel refuses.
        """
        if self.user < 0:
            return  # bubblewrap has done it.
        done = subprocess.run([launcher, "seal", str(process)], check=False, capture_output=True, text=True)
        if done.returncode:
            raise FaultwatchError(f"the sandbox cannot be sealed: {done.stderr.strip()}")

    def _namespaces(self) -> Iterator[str]:
        yield from _NAMESPACES
        if self.user < 0:
            yield from ("--unshare-user", *(["--disable-userns"] if _can_disable() else []))
        else:
            # Root builds the view, since only root may reach the tree. What the launcher needs to become somebody else.
            yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")

    def _view(self, tree: Path, launcher: Path) -> Iterator[str]:
        yield from _system()
        for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - the sandbox's own
            yield from ("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", folder)
        for folder in self.readable:
            yield from (*_parents(Path(folder)), "--ro-bind", folder, folder)
        yield from (*_parents(launcher), "--ro-bind", str(launcher), str(launcher))
        yield from (*_parents(tree), "--bind", str(tree), str(tree))
        # The kernel's addresses; and last, bubblewrap's own folders, into which a program could write without bounds.
        yield from ("--ro-bind", "/dev/null", "/proc/kallsyms", "--remount-ro", "/dev", "--remount-ro", "/")


def only_reading(box: Sandbox | None, *folders: Path) -> list[str]:
    """Return what stands before a tool that reads files of strangers, such as perf on what it recorded.

    It has no network and can write nothing. It sees the system's programs and libraries, and some folders; where the
    programs themselves were trusted, all there is. Nothing, where they were and bubblewrap is not there.
    """
    if box is None and not _is_there():
        return []
    words = ["bwrap", *_NAMESPACES, *_who_reads()]
    if box is None:
        return [*words, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"]
    words += [*_system(), "--tmpfs", "/tmp"]  # noqa: S108 - the sandbox's own
    for folder in (*map(Path, box.readable), *(folder.absolute() for folder in folders)):
        words += [*_parents(folder), "--ro-bind", str(folder), str(folder)]
    return [*words, "--"]


def _who_reads() -> tuple[str, ...]:
    # Without it the kernel's functions have no addresses.
    own = ("--cap-drop", "ALL", "--cap-add", "CAP_SYSLOG")
    return own if os.geteuid() == 0 else ("--unshare-user",)


def _system() -> Iterator[str]:
    """The system's programs and libraries, read-only, and the little of ``/etc`` that they need."""
    for name in _ROOTS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--perms", "0755", "--dir", "/etc")
    for name in _SETTINGS:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    # Allocators and runtimes ask it for processors and huge pages, and allocate accordingly.
    yield from ("--ro-bind", "/sys", "/sys", "--proc", "/proc", "--dev", "/dev")


def _parents(path: Path) -> Iterator[str]:
    """Make the folders above a path, so that another user can pass; a new one has nothing else in it."""
    for folder in reversed(path.parents[:-1]):
        if folder.parts[1] != "usr":
            yield from ("--perms", "0755", "--dir", str(folder))


def sandbox() -> Sandbox:
    """Return the sandbox of this host.

    Raises
    ------
    FaultwatchError
        Where bubblewrap or user namespaces are missing, in one line with what to do.
    """
    readable = tuple(folder for folder in os.environ.get("FAULTWATCH_SANDBOX_READ", "").split(":") if folder)
    if os.geteuid() != 0:
        made = Sandbox(readable=readable)
    else:
        name = os.environ.get("FAULTWATCH_SANDBOX_USER") or "nobody"
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            raise FaultwatchError(f"FAULTWATCH_SANDBOX_USER: there is no user {name!r}") from None
        if user.pw_uid == 0:
            raise FaultwatchError("FAULTWATCH_SANDBOX_USER: root is no unprivileged user")
        made = Sandbox(user.pw_uid, user.pw_gid, readable)
    _try(made)
    return made


@lru_cache
def _try(made: Sandbox) -> None:
    remedy = "or run code that you trust with --no-sandbox"
    if shutil.which("bwrap") is None:
        raise FaultwatchError("bubblewrap is not installed", f"Debian and Ubuntu: apt install bubblewrap; {remedy}")
    # The launcher makes root's user namespace later on; whether that can be is tried here too.
    namespaces = list(made._namespaces()) if made.user < 0 else ["--unshare-user"]
    with made.denied() as denied:
        command = ["bwrap", *namespaces, "--ro-bind", "/", "/", "--seccomp", str(denied), "--", "true"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, pass_fds=[denied])
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        raise FaultwatchError(
            f"this host allows no sandbox: {said}",
            f"it needs user namespaces (sysctl user.max_user_namespaces); {remedy}",
        )


@lru_cache
def _is_there() -> bool:
    """Whether this host allows a sandbox."""
    try:
        return (
            subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"], check=False, capture_output=True).returncode == 0
        )
    except OSError:
        return False


@lru_cache
def _can_disable() -> bool:
    """Whether this bubblewrap can forbid further user namespaces; versions before 0.8 cannot."""
    return "--disable-userns" in subprocess.run(["bwrap", "--help"], check=False, capture_output=True, text=True).stdout
