"""Puts the files that a program maps into one state before it is measured, and says what they were."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner.contract.files import CacheState, Doubt, Files, MappedFile
from runner.execution.sandbox import Sandbox
from runner.mapped_files.cache_state import CacheStates, Made, identity_of
from runner.mapped_files.digests import digest, digest_of_built, source_of, together
from runner.mapped_files.private_copies import PrivateCopies, can_lay_over
from runner.mapped_files.tree_watch import Touched
from runner.perf.fault_places import FaultPlaces, FileFaults
from runner.settings import load_settings

_NO_COPY = "and a private copy needs root or a sandbox"
WITH_COPIES, WITHOUT_COPIES = "made, shared files by private copies", "made, shared files as they are"


@dataclass(slots=True)
class Keeper:
    """What is kept between the sessions of a runner: which states were made, and which files to expect of a case."""

    states: CacheStates = field(default_factory=CacheStates)
    expected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By case: the files that were mapped last, of its own relative to the build's directory."""
    shared: dict[str, tuple[tuple[int, ...], Path]] = field(default_factory=dict)
    """By path: files that others map, as they were, and the copy of each."""


def page_cache_knob(sandbox: Sandbox | None) -> str:
    """Return how the state of mapped files is made on this host, as a knob of the environment."""
    return WITH_COPIES if can_lay_over(sandbox) else WITHOUT_COPIES


class Preparation:
    """The files of one trial.

    Attributes
    ----------
    copies
        What the program is to find in place of files, by the files' paths.
    places
        Where the faults of the execution were that was followed last; None where that could not be told.
    """

    def __init__(
        self, tree: Path, case: str, keeper: Keeper, sandbox: Sandbox | None, untouched: Iterable[Path] = ()
    ) -> None:
        self.copies: dict[str, Path] = {}
        self.places: FaultPlaces | None = None
        self._tree = tree.resolve()
        self._case = case
        self._keeper = keeper
        self._sandbox = sandbox
        self._store = PrivateCopies(load_settings().copies)
        self._untouched = {path.resolve() for path in untouched}
        self._made: dict[str, Made] = {}
        self._opened: set[Path] = set()
        self._products: set[Path] = set()
        self._all_seen = True

    def expect(self, program: Path) -> None:
        """Make the state of the files that were mapped when the case was measured last, and of the program itself.

        Where that are all files it maps, one execution to follow it is enough.
        """
        files = [
            str(program.resolve()),
            *(str(self._tree / name) for name in self._keeper.expected.get(self._case, ())),
        ]
        for path in dict.fromkeys(files):
            if Path(path).is_file():
                self._make(path)

    def take(self, places: FaultPlaces | None, touched: Touched, began: int) -> bool:
        """Make the state of the files that an execution mapped.

        Parameters
        ----------
        places, touched
            What was seen of it.
        began
            When it began, in nanoseconds since the epoch: what came to be since is its own product.

        Returns
        -------
        bool
            Whether any of them lay otherwise meanwhile.
        """
        self.places = places
        self._products |= touched.made
        self._all_seen = touched.complete and not touched.written - self._products
        self._opened |= touched.opened - self._products
        changed = False
        for file in places.files if places else ():
            if self._is_input(file, began):
                changed |= self._make(file.path)
        names = (Path(path) for path in self._made)
        self._keeper.expected[self._case] = tuple(str(self._relative(path)) for path in names)
        return changed

    def files(self) -> Files | None:
        """Return what is known of the files that were mapped; None where that could not be found out."""
        if self.places is None:
            return None
        mapped = tuple(self._mapped(file) for file in self.places.files if file.path in self._made)
        inside = {source_of(path) for path in self._opened if path.is_file()}
        inside |= {self._tree / file.path for file in mapped if file.own}
        own = together((str(self._relative(path)), digest_of_built(path, self._tree)) for path in inside)
        return Files(
            mapped=mapped,
            own_bytes=own if self._all_seen and inside else "",
            system_bytes=together((file.path, file.digest) for file in mapped if not file.own),
            doubt=self._doubt(mapped),
        )

    def verify(self) -> None:
        """Look whether all files are still as they were made, after the program was measured."""
        for path, made in self._made.items():
            if made.cache is not CacheState.LEFT and not self._keeper.states.holds(self.copies.get(path, Path(path))):
                self._made[path] = Made(CacheState.LEFT, "it did not stay so")

    def remarks(self) -> tuple[str, ...]:
        """Return what could not be made or found out, one line each, for people."""
        if self.places is None:
            return ("which files the program maps could not be followed, so how they lie in memory is not defined",)
        missing = f"{self.places.lost} records of mapped files and faults were lost" if self.places.lost else ""
        left: dict[str, list[str]] = {}
        for path, made in sorted(self._made.items()):
            if made.cache is CacheState.LEFT:
                left.setdefault(made.reason, []).append(path)
        told = [
            f"{_listed(paths)} could not be put into a defined state in memory: {why}" for why, paths in left.items()
        ]
        return tuple(text[:1000] for text in (missing, *told) if text)

    def _is_input(self, file: FileFaults, began: int) -> bool:
        path = Path(file.path)
        if path.resolve() in self._untouched or path in self._products:
            return False
        try:
            state = path.stat()
        except OSError:
            return False  # It is gone, or the program alone sees it: it came to be while it ran.
        if file.path in self.copies:
            return True
        # A name from within a sandbox can be another file outside of it.
        same = self._sandbox is None or state.st_ino == file.inode
        return same and state.st_ctime_ns <= began

    def _make(self, path: str) -> bool:
        """Make one file's state; tell whether it lay otherwise before."""
        if Path(path).resolve() in self._untouched:
            return False
        shared = self._keeper.shared.get(path)
        if shared and shared[0] == _identity(path):
            made = self._keeper.states.make(shared[1])
            if made.cache is CacheState.MADE:
                made = replace(made, cache=CacheState.COPY)
            laid_before = self.copies.get(path) == shared[1]
            self.copies[path] = shared[1]
            self._made[path] = made
            return made.changed or not laid_before
        made = self._keeper.states.make(Path(path))
        if made.cache is CacheState.LEFT:
            made = self._copied(path, made)
        self._made[path] = made
        return made.changed

    def _copied(self, path: str, left: Made) -> Made:
        if not can_lay_over(self._sandbox):
            return replace(left, reason=f"{left.reason}, {_NO_COPY}")
        copy = self._store.copy_of(Path(path))
        made = self._keeper.states.make(copy) if copy else left
        if copy is None or made.cache is CacheState.LEFT:
            return left
        self.copies[path] = copy
        self._keeper.shared[path] = _identity(path), copy
        return replace(made, cache=CacheState.COPY, changed=True)

    def _mapped(self, file: FileFaults) -> MappedFile:
        path, made = Path(file.path), self._made[file.path]
        own = path.is_relative_to(self._tree)
        return MappedFile(
            path=str(self._relative(path)),
            own=own,
            digest=digest_of_built(path, self._tree) if own else digest(path),
            cache=made.cache,
            reason=made.reason,
            faults=file.faults if self._exact else None,
        )

    @property
    def _exact(self) -> bool:
        return self.places is not None and not self.places.lost

    def _doubt(self, mapped: Iterable[MappedFile]) -> Doubt:
        left = {file.path for file in mapped if file.cache is CacheState.LEFT}
        files = (
            [file for file in self.places.files if str(self._relative(Path(file.path))) in left] if self.places else []
        )
        faults, pages = sum(file.faults for file in files), sum(file.pages for file in files)
        return Doubt(least=faults, most=faults) if self._exact else Doubt(most=max(faults, pages))

    def _relative(self, path: Path) -> Path:
        return path.relative_to(self._tree) if path.is_relative_to(self._tree) else path


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{', '.join(paths[:3])}{more}"


def _identity(path: str) -> tuple[int, ...]:
    try:
        return identity_of(Path(path).stat())
    except OSError:
        return ()
