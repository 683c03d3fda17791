"""Brings the files that a program maps into a known state of the page cache, and describes them for the report.

The paths come from the program, which may be untrusted, and may see other files at these paths than the runner. A file
is opened only if the sandbox shows the same file to the program.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.mapped_files import CacheState, MappedFile, ProgramFiles
from runner.contract.word_list import join_first_words
from runner.dependencies.digests import combine_digests, hash_built_file, hash_file
from runner.dependencies.lookup_answers import AnsweredLookups, ProgramTree, answer_lookups
from runner.dependencies.recorded_lookups import Lookups, make_untraced_lookups
from runner.execution.sandbox import Sandbox
from runner.mapped_files.build_usage import list_doubts
from runner.mapped_files.cache_preparation import CachePreparer, Preparation
from runner.mapped_files.page_cache_renewal import compute_uncertain_faults, evict_unprepared_files
from runner.mapped_files.private_copies import PrivateCopies, can_mount_copies
from runner.perf.faults_by_file import FaultsByFile, FileFaults
from runner.settings import load_settings
from runner.system.real_path import resolve_links
from runner.system.regular_file import identify_file, open_regular
from runner.system.valid_text import make_valid_text

_MAX_NAMED_FILES = 3
"""The largest number of files that a remark names."""
_NO_COPY_REASON = "and a private copy of the file requires root or a sandbox"
WITH_COPIES, WITHOUT_COPIES = "prepared, shared files as private copies", "prepared, shared files as found"


class KnownFiles(Struct):
    """The runner's knowledge about mapped files, which is kept from one session to the next.

    Attributes
    ----------
    preparer
        Prepares files, and remembers which files it has prepared.
    expected
        By case: the files that its program mapped when it was last watched. Paths in the build are relative to it.
    answered
        By case: the last file lookups of its program with their answers. A case is missing if some are unknown.
    untraced_reasons
        By case: why its program cannot be traced.
    shared
        By path, for files that other programs map: the identity of the file, and its private copy.
    """

    preparer: CachePreparer = field(default_factory=CachePreparer)
    expected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    answered: dict[str, AnsweredLookups] = field(default_factory=dict)
    untraced_reasons: dict[str, str] = field(default_factory=dict)
    shared: dict[str, tuple[tuple[int, ...], Path]] = field(default_factory=dict)


def describe_page_cache(sandbox: Sandbox | None) -> str:
    """Return how mapped files are prepared on this host, as a setting of the environment."""
    return WITH_COPIES if can_mount_copies(sandbox) else WITHOUT_COPIES


class TrialFiles:
    """The files that the program of one trial maps.

    Attributes
    ----------
    copies
        The copies to mount over files, by the path of the original.
    faults
        The faults of the last watched execution; None if it could not be watched.
    lookups
        The file lookups of all traced executions.
    """

    def __init__(
        self,
        tree: Path,
        case: str,
        known_files: KnownFiles,
        sandbox: Sandbox | None,
        untouched_files: Iterable[Path] = (),
        *,
        began: int = 0,
    ) -> None:
        """Create the record of a trial in which no file is prepared yet.

        Parameters
        ----------
        untouched_files
            Files whose state in the page cache must stay as it is, such as those that a cold case evicts.
        began
            The time at which the making of the tree began, in nanoseconds since the epoch; 0 if unknown.
        """
        self.copies: dict[str, Path] = {}
        self.faults: FaultsByFile | None = None
        self.lookups = make_untraced_lookups("it was not executed")
        self._tree = tree.resolve()
        self._program_tree = ProgramTree(self._tree, began, sandbox)
        self._answered_lookups: AnsweredLookups | None = None
        self._renewals: list[FaultsByFile | None] = []
        self._case = case
        self._known_files = known_files
        self._sandbox = sandbox
        self._store = PrivateCopies(load_settings().copies)
        self._untouched_files = {resolve_links(path) for path in untouched_files}
        self._preparations: dict[str, Preparation] = {}
        self._has_lookups = False

    def prepare_expected_files(self, program: Path) -> None:
        """Prepare the program's own file, and the files that the case mapped in earlier sessions.

        If the first traced execution maps no further files, all were prepared already, and it need not be repeated.
        """
        expected = (str(self._tree / name) for name in self._known_files.expected.get(self._case, ()))
        for path in dict.fromkeys((str(program.resolve()), *expected)):
            if _is_file(path):
                self._prepare_file(path)

    def prepare_mapped_files(self, faults: FaultsByFile | None, lookups: Lookups, began_at: int) -> bool:
        """Prepare the files that an execution mapped whose faults and file lookups were recorded.

        Parameters
        ----------
        faults, lookups
            The recorded faults and file lookups of the execution.
        began_at
            When it began, in nanoseconds since the epoch. Files that changed later are the program's output.

        Returns
        -------
        bool
            Whether any of the files was unprepared during the execution.
        """
        self.faults = faults
        self.lookups = self.lookups.combine(lookups) if self._has_lookups else lookups
        self._has_lookups = True
        self._answered_lookups = None
        had_unprepared_file = False
        mapped_files = faults.files if faults else ()
        for file in mapped_files:
            if self._is_input(file, began_at) and self._prepare_file(file.path):
                had_unprepared_file = True
        self._known_files.expected[self._case] = tuple(str(self._make_path_relative(path)) for path in self.paths)
        return had_unprepared_file

    def prepare_restored_files(self, files: Iterable[Path]) -> None:
        """Prepare files that were restored to their built state, so that all executions find them in the same state."""
        for path in files:
            with suppress(OSError):
                real_path = os.path.realpath(path)
                if Path(real_path) in self._untouched_files:
                    continue
                with open_regular(path, may_be_link=False) as stream:
                    os.fsync(stream.fileno())  # A dirty page cannot be evicted.
                if real_path in self._preparations:  # The program maps it, so its preparation is recorded again.
                    self._prepare_file(real_path)
                else:
                    self._known_files.preparer.prepare(path)

    @property
    def paths(self) -> list[Path]:
        """The files that the program is known to map, its own file first."""
        return [Path(path) for path in self._preparations]

    @property
    def answered(self) -> AnsweredLookups:
        """The program's file lookups, with their answers."""
        if self._answered_lookups is None:
            self._answered_lookups = AnsweredLookups(
                self._program_tree, self.lookups, answer_lookups(self._program_tree, self.lookups)
            )
        return self._answered_lookups

    @property
    def are_all_prepared(self) -> bool:
        """Whether all files are prepared, so that the page cache cannot move the count."""
        return all(preparation.cache is not CacheState.UNPREPARED for preparation in self._preparations.values())

    def evict_unprepared_files(self) -> None:
        """Evict the evictable pages of the unprepared files from the page cache."""
        evict_unprepared_files(self._preparations)

    def record_renewal(self, faults: FaultsByFile | None) -> None:
        """Record the faults of a watched execution that followed :meth:`evict_unprepared_files`."""
        self._renewals.append(faults)

    def build_program_files(self) -> ProgramFiles | None:
        """Return the files as the report has them; None if no execution could be watched."""
        if self.faults is None:
            return None
        mapped_files = tuple(
            self._build_mapped_file(file) for file in self.faults.files if file.path in self._preparations
        )
        own_bytes = "" if self.lookups.objection else self.answered.answers.digest
        # Remember only known answers: unknown ones cannot be compared with those of another build.
        self._known_files.answered.pop(self._case, None)
        if own_bytes:
            self._known_files.answered[self._case] = self.answered
        return ProgramFiles(
            mapped=mapped_files,
            own_bytes=own_bytes,
            system_bytes=combine_digests((file.path, file.digest) for file in mapped_files if not file.in_build),
            uncertain_faults=compute_uncertain_faults((self.faults, *self._renewals), self._preparations),
        )

    def mark_changed_files(self) -> None:
        """Mark files as unprepared that are no longer prepared after the program was measured."""
        for path, preparation in self._preparations.items():
            mapped = self.copies.get(path, Path(path))
            if preparation.cache is not CacheState.UNPREPARED and not self._known_files.preparer.is_prepared(mapped):
                self._preparations[path] = Preparation(CacheState.UNPREPARED, "its state changed during the session")

    def list_remarks(self) -> tuple[str, ...]:
        """Return one line for each problem, for people to read."""
        if self.faults is None:
            return (
                "no execution could be traced, so the files that the program maps are unknown and their page-cache "
                "state was not prepared",
            )
        # Lost records.
        n_lost = self.faults.lost
        loss_message = ""
        if n_lost:
            loss_message = f"{n_lost:,} records of mapped files and faults were lost"
            if n_lost == 1:
                loss_message = "1 record of mapped files and faults was lost"
        # Files that could not be prepared.
        paths_by_reason: dict[str, list[str]] = {}
        for path, preparation in sorted(self._preparations.items()):
            if preparation.cache is CacheState.UNPREPARED:
                paths_by_reason.setdefault(preparation.reason, []).append(path)
        lines = [
            f"the page-cache state of {join_first_words(paths, _MAX_NAMED_FILES)} could not be prepared: {reason}"
            for reason, paths in paths_by_reason.items()
        ]
        # Doubts about the recorded lookups.
        mapped_paths = self.paths
        opened_files = [
            path for path in map(Path, self.lookups.opened_paths) if path.is_relative_to(self._tree) and _is_file(path)
        ]
        own_paths = [*opened_files, *(path for path in mapped_paths if path.is_relative_to(self._tree))]
        system_paths = [path for path in mapped_paths if not path.is_relative_to(self._tree)]
        doubts = () if self.lookups.objection else list_doubts(self._tree, own_paths, system_paths)
        return tuple(make_valid_text(line)[:MAX_LINE_CHARACTERS] for line in (loss_message, *lines, *doubts) if line)

    def _is_input(self, file: FileFaults, began_at: int) -> bool:
        """Return whether a mapped file existed before the execution, so that its state can be prepared."""
        path = Path(file.path)
        if file.path in self.lookups.made_paths or not self._is_visible_to_program(path):
            return False
        try:
            if resolve_links(path) in self._untouched_files:
                return False
            status = path.stat()
        except OSError:
            return False  # The file was created during the execution and is gone, or only the program sees it.
        if file.path in self.copies:
            return True
        # In a sandbox, the program may see another file at this path. A file that changed since then is its output.
        return (self._sandbox is None or _is_same_file(status, file)) and status.st_ctime_ns <= began_at

    def _is_visible_to_program(self, path: Path) -> bool:
        """Return whether the program sees the same file at a path as the runner.

        For example, a file in the private ``/tmp`` of an untrusted program may have the path and the inode number of a
        file that the program must not see.
        """
        if self._sandbox is None:
            return True
        if path.is_relative_to(self._tree):
            return resolve_links(path) == path  # The path contains no link, which could lead out of the tree.
        return self._sandbox.is_visible(path)

    def _prepare_file(self, path: str) -> bool:
        """Prepare one file; return whether it was unprepared before."""
        if resolve_links(path) in self._untouched_files:
            return False
        shared_file = self._known_files.shared.get(path)
        if shared_file:
            identity, copy = shared_file
            if identity == _identify_path(path):  # The file has not changed since it was copied.
                return self._prepare_known_copy(path, copy)
        preparation = self._known_files.preparer.prepare(Path(path))
        if preparation.cache is CacheState.UNPREPARED:
            preparation = self._prepare_private_copy(path, preparation)
        self._preparations[path] = preparation
        return preparation.changed

    def _prepare_known_copy(self, path: str, copy: Path) -> bool:
        """Prepare an existing private copy of a file; return whether it was unprepared, or not mounted yet."""
        preparation = self._known_files.preparer.prepare(copy)
        if preparation.cache is CacheState.PREPARED:
            preparation = replace(preparation, cache=CacheState.COPY)
        was_mounted = self.copies.get(path) == copy
        self.copies[path] = copy
        self._preparations[path] = preparation
        return preparation.changed or not was_mounted

    def _prepare_private_copy(self, path: str, failed_preparation: Preparation) -> Preparation:
        """Prepare a private copy to mount over a file whose own pages cannot be prepared, and remember the copy.

        If there can be no prepared copy, return ``failed_preparation``, with the reason if copies cannot be mounted.
        """
        if not can_mount_copies(self._sandbox):
            return replace(failed_preparation, reason=f"{failed_preparation.reason}, {_NO_COPY_REASON}")
        copy = self._store.get_copy(Path(path))
        preparation = self._known_files.preparer.prepare(copy) if copy else failed_preparation
        if copy is None or preparation.cache is CacheState.UNPREPARED:
            return failed_preparation
        self.copies[path] = copy
        self._known_files.shared[path] = _identify_path(path), copy  # for the other trials that map this shared file
        return replace(preparation, cache=CacheState.COPY, changed=True)  # The program has not mapped the copy yet.

    def _build_mapped_file(self, file: FileFaults) -> MappedFile:
        """Return the report's description of a mapped file: its digest, its page-cache state and its faults."""
        path, preparation = Path(file.path), self._preparations[file.path]
        is_in_build = path.is_relative_to(self._tree)
        return MappedFile(
            path=make_valid_text(str(self._make_path_relative(path))),
            in_build=is_in_build,
            digest=hash_built_file(path, self._tree) if is_in_build else hash_file(path),
            cache=preparation.cache,
            reason=preparation.reason,
            faults=file.faults if self._are_faults_complete else None,
        )

    @property
    def _are_faults_complete(self) -> bool:
        """Whether every fault of the watched execution was recorded."""
        return self.faults is not None and not self.faults.lost

    def _make_path_relative(self, path: Path) -> Path:
        return path.relative_to(self._tree) if path.is_relative_to(self._tree) else path


def _is_file(path: str | Path) -> bool:
    """Return whether a path that a program has chosen is that of a file.

    Unlike ``Path.is_file``, this is False for a name that is too long, and in a folder that this user may not search.
    """
    return os.path.isfile(path)  # noqa: PTH113


def _is_same_file(status: os.stat_result, file: FileFaults) -> bool:
    """Return whether the file with this status is the file that was mapped.

    File systems without a device, such as overlays, report another device number by ``stat`` than to perf.
    """
    device = os.major(status.st_dev), os.minor(status.st_dev)
    return status.st_ino == file.inode and (device == file.device or device[0] == 0)


def _identify_path(path: str) -> tuple[int, ...]:
    """Return the identity of a file; empty if it does not exist."""
    try:
        return identify_file(Path(path).stat())
    except OSError:
        return ()
