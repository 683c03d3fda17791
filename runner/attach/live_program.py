"""Reads the properties of a live program: its file, allocator, runtime, variables, and where its files are."""

import hashlib
import mmap
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from runner.attach.process_table import LiveProcess
from runner.contract.profile import DELETED_SUFFIX
from runner.contract.runtimes import find_runtime
from runner.environment.allocator import ALLOCATORS
from runner.environment.secrets import hide_secret
from runner.profile.elf import read_sections
from runner.profile.memory_mappings import MAX_GUARD_BYTES
from runner.profile.script_parser import Mapped
from runner.system.processes import read_start_time
from runner.system.regular_file import open_regular
from runner.system.tree import Tree

RUNTIMES_WITH_OWN_HEAP = frozenset({"java", "node", "dotnet", "go"})
"""Runtimes that get their memory directly from the kernel, without the C library's allocator."""
_C_LIBRARY = re.compile(r"libc\.so\.6|libc-[\d.]+\.so")
_MUSL = re.compile(r"ld-musl-.*|libc\.musl-.*")
_STATIC_MARKS = {"jemalloc": b"<jemalloc>", "tcmalloc": b"tcmalloc.", "mimalloc": b"mimalloc: "}
"""Texts in programs that show which allocator is linked into them."""
_VARIABLES = re.compile(
    r"MALLOC_\w+|_RJEM_MALLOC_CONF|JE_MALLOC_CONF|GLIBC_TUNABLES|LD_PRELOAD|TCMALLOC_\w+|MIMALLOC_\w+|JAVA_TOOL_OPTIONS|"
    r"_JAVA_OPTIONS|JDK_JAVA_OPTIONS|NODE_OPTIONS|UV_THREADPOOL_SIZE|GOGC|GOMEMLIMIT|GODEBUG|GOMAXPROCS|PYTHONMALLOC|"
    r"DOTNET_\w+|OMP_NUM_THREADS"
)
"""The variables of a process that are read: only those that configure allocators and runtimes."""
_MAX_MAPS_BYTES = 64 << 20
_MAX_ENVIRON_BYTES = 1 << 20
_MAX_PROGRAM_BYTES = 512 << 20
_MAP_NAME_FIELD = 5
_INACCESSIBLE = re.compile(
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<protection>---p) \S+ 00:00 0\s*$", re.MULTILINE
)


class LiveProgram(Struct, frozen=True):
    """The program of a live process.

    Attributes
    ----------
    file
        The path of its file, as the process sees it; empty if this user may not read it.
    modules
        The paths of all files that it has mapped as code.
    allocator
        Its allocator, judging by its files; empty if unknown.
    runtime
        Its language runtime; empty if there is none.
    variables
        The variables that configure its allocator or runtime, with their values at its start.
    root
        The path of its root directory as seen from this process; ``/`` if it sees the files of this host.
    is_replaced
        Whether its file was removed or replaced, as by an upgrade.
    started_at
        When the process started.
    """

    process: LiveProcess
    file: str = ""
    modules: tuple[str, ...] = ()
    allocator: str = ""
    runtime: str = ""
    variables: Mapping[str, str] = {}
    root: str = "/"
    is_replaced: bool = False
    started_at: datetime | None = None

    @property
    def name(self) -> str:
        """The program's name in its command line, such as ``redis-server``, even if that is a link to another file."""
        file_name = self.file.rpartition("/")[2]
        first_word = self.process.words[0] if self.process.words else ""
        if file_name and first_word.rpartition("/")[2] == file_name:
            return file_name  # A path may contain spaces and colons.
        # A server may have written a title in place of the path, as in ``nginx: master``.
        program_word = re.split(r"[\s:]", first_word, maxsplit=1)[0]
        return program_word.rpartition("/")[2] or file_name or self.process.name

    @property
    def has_own_files(self) -> bool:
        """Whether it sees other files than this host's, as in a container."""
        return self.root != "/"

    @property
    def uses_shared_libraries(self) -> bool:
        """Whether it is linked dynamically to a C library, so that another allocator can be preloaded."""
        names = [module.rpartition("/")[2] for module in self.modules]
        return any(_C_LIBRARY.fullmatch(name) or _MUSL.fullmatch(name) for name in names)

    def get_outside_path(self, module: str) -> Path:
        """Return the path by which this process can open one of its files."""
        return Path(self.root, module.lstrip("/"))


def read_live_program(process: LiveProcess) -> LiveProgram:
    """Read the properties of a process's program; those that this user may not read are empty."""
    tree = Tree()
    folder = f"/proc/{process.pid}"
    link = ""
    with suppress(OSError):
        link = os.readlink(f"{folder}/exe")  # noqa: PTH115 - the kernel's text, no path
    file = link.removesuffix(DELETED_SUFFIX)
    modules = list_modules(tree.read_text(f"{folder}/maps", _MAX_MAPS_BYTES) or "")
    root = f"{folder}/root" if _has_own_files(process.pid) else "/"
    outside_file = Path(root, file.lstrip("/")) if file else None
    sections = read_sections(outside_file) if outside_file else None
    runtime = detect_runtime(file, modules, is_go=sections is not None and sections.is_go)
    return LiveProgram(
        process=process,
        file=file,
        modules=modules,
        allocator=detect_allocator(modules, runtime, _find_static_allocator(outside_file) if outside_file else ""),
        runtime=runtime,
        variables=select_variables(tree.read_text(f"{folder}/environ", _MAX_ENVIRON_BYTES) or ""),
        root=root,
        is_replaced=is_replaced(link),
        started_at=read_start_time(process.pid),
    )


def list_modules(maps: str) -> tuple[str, ...]:
    """Return the files that a process has mapped as code, from the text of its ``maps``."""
    files: dict[str, None] = {}
    for line in maps.split("\n"):
        fields = line.split(None, _MAP_NAME_FIELD)
        if len(fields) > _MAP_NAME_FIELD and "x" in fields[1] and fields[_MAP_NAME_FIELD].startswith("/"):
            files[fields[_MAP_NAME_FIELD].removesuffix(DELETED_SUFFIX)] = None
    return tuple(files)


def read_guards(tree: Tree, pid: int) -> tuple[Mapped, ...]:
    """Return the guard mappings below the stacks of a process's threads; none if this user may not read them."""
    return list_guards(pid, tree.read_text(f"/proc/{pid}/maps", _MAX_MAPS_BYTES) or "")


def list_guards(pid: int, maps: str) -> tuple[Mapped, ...]:
    """Return the small inaccessible mappings of a process, which are guards, from the text of its ``maps``."""
    guards = []
    for match in _INACCESSIBLE.finditer(maps):
        start, end = int(match["start"], 16), int(match["end"], 16)
        if end - start <= MAX_GUARD_BYTES:
            guards.append(
                Mapped(
                    pid=pid,
                    start=start,
                    size=end - start,
                    offset=0,
                    protection=match["protection"],
                    name="//anon",
                )
            )
    return tuple(guards)


def detect_runtime(file: str, modules: Iterable[str], *, is_go: bool) -> str:
    """Return the language runtime of a program, judging by the files that it has mapped; empty if there is none."""
    if is_go:
        return "go"
    runtime_and_file = find_runtime([file, *modules])
    return runtime_and_file[0].value if runtime_and_file else ""


def detect_allocator(modules: Iterable[str], runtime: str, static_allocator: str = "") -> str:
    """Return the allocator of a program; empty if unknown.

    The first of these counts: an allocator in a shared library, a statically linked one, the runtime's own, the C
    library's.

    Parameters
    ----------
    static_allocator
        The allocator that is linked statically into the program; empty if there is none.
    """
    names = [module.rpartition("/")[2].lower() for module in modules]
    library = next((allocator for allocator in ALLOCATORS if any(f"lib{allocator}" in name for name in names)), "")
    if library or static_allocator:
        return library or static_allocator
    if runtime in RUNTIMES_WITH_OWN_HEAP:
        return runtime
    if any(map(_MUSL.fullmatch, names)):
        return "musl"
    return "glibc" if any(map(_C_LIBRARY.fullmatch, names)) else ""


def select_variables(environ: str) -> dict[str, str]:
    """Return the variables that configure an allocator or a runtime, from the text of ``environ``."""
    pairs = (word.partition("=") for word in environ.split("\0"))
    return {name: hide_secret(name, value) for name, _, value in pairs if _VARIABLES.fullmatch(name)}


def identify_program(program: LiveProgram) -> str:
    """Return 40 hexadecimal digits that identify a version of a program: a digest of its file, or else of its name."""
    digest = hashlib.sha1(usedforsecurity=False)
    try:
        with open_regular(program.get_outside_path(program.file)) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError:
        digest.update(os.fsencode(program.name))
    return digest.hexdigest()


def read_modification_time(program: LiveProgram) -> datetime:
    """Return when the file of a program was modified; if this cannot be read, when the process started."""
    with suppress(OSError):
        return datetime.fromtimestamp(program.get_outside_path(program.file).stat().st_mtime, UTC)
    return program.started_at or datetime.now(UTC)


def _has_own_files(pid: int) -> bool:
    """Return whether a process has another file system than this one, such as that of a container.

    It has if its root directory is another one (chroot, container), or if the path of its executable leads to another
    file here (another mount namespace). If this user may not read either, the answer is False.
    """
    try:
        roots = [Path(f"/proc/{process}/root").stat() for process in ("self", pid)]
        program = Path(f"/proc/{pid}/exe")
        if not os.path.samestat(*roots):
            return True
        path = program.readlink()
        if is_replaced(str(path)):
            return False
        try:
            return not os.path.samestat(program.stat(), path.stat())
        except FileNotFoundError:
            return program.exists()  # else the process has ended
    except OSError:
        return False


def is_replaced(link: str) -> bool:
    """Return whether the file of a program was removed or replaced, given the target of the kernel's link to it."""
    return link.endswith(DELETED_SUFFIX)


def _find_static_allocator(file: Path) -> str:
    """Return the allocator that is linked into a program; empty if there is none, or the file is too large."""
    try:
        with open_regular(file) as stream:
            # An empty file cannot be mapped, and a larger one takes too long.
            if not 0 < os.fstat(stream.fileno()).st_size <= _MAX_PROGRAM_BYTES:
                return ""
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return next((name for name, mark in _STATIC_MARKS.items() if content.find(mark) >= 0), "")
    except (OSError, ValueError):  # ValueError: the file has become empty
        return ""
