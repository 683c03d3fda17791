"""Builds each revision once: builds are cached by revision, recipe and tools."""

import os
import resource
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from errno import ELOOP
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.report import TERMINAL_CODE, Build, Stage, hash_document
from runner.dependencies.lookup_tracing import LookupTracer
from runner.dependencies.recorded_lookups import Lookups, make_untraced_lookups
from runner.environment.build_tools import read_build_settings
from runner.environment.programs_and_libraries import read_library_settings
from runner.environment.secrets import hide_password, hide_secrets
from runner.errors import FaultwatchError
from runner.execution.build_clock import BuildClock
from runner.execution.execute import execute
from runner.execution.execution_log import log_command, log_step
from runner.execution.sandbox import Sandbox
from runner.execution.temporary_failure import is_disk_full, is_temporary
from runner.process_state.umask import use_standard_umask
from runner.subject.build_errors import find_first_error
from runner.subject.build_folders import BuildFolders, make_empty_folder, move_build_aside
from runner.subject.build_inputs import Inputs, find_changed_files, write_inputs
from runner.subject.build_needs import find_missing_programs
from runner.subject.build_record import BuildRecord, DamagedBuild, read_record, write_record
from runner.subject.checkout_content import TooLargeCheckout, write_commit
from runner.subject.confined_build import execute_confined
from runner.subject.hardened_git import GitError
from runner.subject.missing_packages import find_missing_dependency
from runner.subject.offline_builds import OFFLINE_VARIABLES, describe_offline_remedy, find_network_error
from runner.subject.repository import Repository
from runner.subject.sandbox_needs import describe_sandbox_failure, get_hidden_network_hint, list_masked_cache_folders
from runner.subject.session_tree_restorer import (
    TREE_FOLDER,
    UnreadableTree,
    copy_tree,
    keep_copy,
    overlay_files,
    restore_original_tree,
)
from runner.subject.submodules_and_lfs import IncompleteCheckout
from runner.subject.tool_search import find_missing_tool, suggest_path
from runner.subject.version_repository import hash_visible_tags, write_git_directory
from runner.system.pause_processes import Clock
from runner.system.tree import Tree
from runner.system.tree_walk import TreeTooLarge, explain_unusable_tree, remove_tree, walk_tree
from runner.workload import Workload
from runner.workload.workload_folder import get_build_command, get_build_path, get_build_variables, provide_own_folder
from runner.workload.workload_folder_files import copy_sources

_CHECKOUT = "checkout"
"""The folder for the files of a later commit, beside the tree."""
MAX_LOG_CHARACTERS = 60_000
"""The number of characters that are kept from the end of a build log, where the errors are."""


class BuildFailure(Exception):
    """A revision does not build, which is a result and not an error of Faultwatch.

    Attributes
    ----------
    stage
        The stage that failed: the checkout or the build.
    temporary
        Whether the state of this host is the reason, so that another attempt can succeed.
    lacks_programs
        Whether the build was not tried, because this host lacks programs that the workload requires.
    timed_out
        Whether the build exceeded its time limit.
    """

    def __init__(
        self,
        message: str,
        build: Build,
        *,
        temporary: bool = False,
        stage: Stage = Stage.BUILD,
        lacks_programs: bool = False,
        timed_out: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.stage = stage
        self.build = build
        self.temporary = temporary
        self.lacks_programs = lacks_programs
        self.timed_out = timed_out


class MeasuringTurn(Protocol):
    """The turn of this command to measure on its host."""

    def give_way(self) -> None:
        """Let the waiting commands measure first."""

    def pause(self, builders: Collection[int] = (), clock: Clock | None = None) -> AbstractContextManager[None]:
        """Let others measure within a context; while they do, its processes, ``builders`` and ``clock`` are stopped."""


class _NoTurn:
    """Replaces the turn of a command that needs none: the methods do nothing."""

    def give_way(self) -> None:
        pass

    def pause(self, builders: Collection[int] = (), clock: Clock | None = None) -> AbstractContextManager[None]:
        return nullcontext()


class Builder(Struct, frozen=True):
    """Builds revisions of one repository into a cache.

    Attributes
    ----------
    folders
        The folders in which the builds are kept.
    machine_settings
        The settings that influence the output of the build's tools, besides the tools themselves: the processor, the C
        library.
    sandbox
        The sandbox of the build, if any. Sandboxed builds are cached separately, because files that untrusted code
        leaves in its tree must not be executed outside of a sandbox.
    report_repeated_build
        Called with a line of text about each build that is repeated.
    retry_failed
        Whether to repeat builds that failed.
    traces_lookups
        Whether to trace the file lookups of a build, so that the build can be reused for other revisions.
    """

    folders: BuildFolders
    machine_settings: Mapping[str, str]
    sandbox: Sandbox | None = None
    report_repeated_build: Callable[[str], None] = lambda _: None
    retry_failed: bool = False
    traces_lookups: bool = False
    reveals_host: bool = False
    """Whether messages about failed builds may reveal what this host has but the sandbox hides. Only the owner of the
    host may see this: an untrusted author could find out which files exist, and make the gate advise exposing them."""
    turn: MeasuringTurn = _NoTurn()
    """The turn of this command: others may measure before a build is used, and while one is made."""
    clock: BuildClock = field(default_factory=BuildClock)
    """Measures the time of a build for its time limit, without the time for which the build is stopped."""

    def build(self, repository: Repository, commit: str, workload: Workload, *, number: int = 0) -> tuple[Path, Build]:
        """Return the tree of a built revision in its built state; build the revision if the cache lacks it.

        Parameters
        ----------
        number
            The number of the build of this revision. Builds after the first (0) show which differences are due to the
            revision, and which are due to a particular build.

        Raises
        ------
        BuildFailure
            The build fails. If the revision is the reason, this is cached, so the next call fails at once with the same
            log. If the state of this host is the reason (a full disk, a time-out, a signal, a missing program), it is
            not cached.
        FaultwatchError
            The disk is full or the build tool is not installed, so the revision is not at fault.
        """
        problem = find_missing_programs(workload, self._hiding_sandbox)
        if problem:
            raise BuildFailure(problem, Build(), temporary=True, lacks_programs=True)
        self.turn.give_way()
        build_folder = self.folders.lock_build_folder(self._compute_key(repository, commit, workload, number))
        record = self._find_usable_record(build_folder)
        is_cached = record is not None
        if record is None:
            with self.turn.pause(clock=self.clock):
                record = self._build_tree_in_folder(repository, commit, workload, build_folder)
            self.folders.evict()
        if is_cached:
            log_step("using the build of %s in %s", commit[:10], build_folder)
        build = record.build.model_copy(update={"cached": is_cached})
        if record.failure:
            raise BuildFailure(record.failure, build)
        return build_folder / TREE_FOLDER, build

    @contextmanager
    def build_revision_in_other_folder(
        self, repository: Repository, commit: str, workload: Workload, tree: Path
    ) -> Iterator[Path]:
        """Build a revision in the folder of another one, and yield its tree; restore the other build afterwards.

        The path and its effects are then the same as for the other revision.

        Raises
        ------
        BuildFailure
            The revision does not build this time.
        """
        with self._move_build_aside(tree):
            # Do not write a record: if this process is killed, the tree must not be taken for the other revision's.
            with self.turn.pause(clock=self.clock):
                record = self._run_and_record_build(repository, commit, workload, tree)
            if record.failure:
                raise BuildFailure(record.failure, record.build)
            yield tree

    @contextmanager
    def extend_build(self, workload: Workload, tree: Path) -> Iterator[Path]:
        """Run the build command of a workload in a built tree, and yield the tree; restore the tree afterwards.

        So a further step of a build can be tried without the steps before it. Meanwhile, a session restores the tree to
        its state after the step.

        Raises
        ------
        BuildFailure
            The command fails.
        FaultwatchError
            The tree cannot be copied, or the program of the command is not installed.
        """
        with self._move_build_aside(tree) as moved_build:
            with self.turn.pause(clock=self.clock), use_standard_umask():
                copy_tree(moved_build / TREE_FOLDER, tree)
                failure, build = run_build_command(
                    workload, tree, self.sandbox, tracer=None, clock=self.clock, reveals_host=self.reveals_host
                )
            if failure:
                raise BuildFailure(failure, build)
            if self.sandbox:
                self.sandbox.change_owner(tree)
            try:
                write_record(tree.parent, keep_copy(tree.parent, build, workload.run.output_file))
            except UnreadableTree as error:
                raise BuildFailure(f"the tree {error}", build) from None
            yield tree

    @staticmethod
    @contextmanager
    def _move_build_aside(tree: Path) -> Iterator[Path]:
        """Make the folder of a build empty, and yield where the build is meanwhile; put it back afterwards."""
        build_folder = tree.parent
        moved_build = move_build_aside(build_folder)
        try:
            build_folder.mkdir()
            yield moved_build
        finally:
            remove_tree(build_folder)
            moved_build.rename(build_folder)

    @property
    def _hiding_sandbox(self) -> Sandbox | None:
        """The sandbox if messages must not reveal what is outside of it; otherwise None."""
        return None if self.reveals_host else self.sandbox

    def reuse(
        self, repository: Repository, built_commit: str, commit: str, workload: Workload
    ) -> tuple[Path, Build] | None:
        """Return the build of ``built_commit`` with the files of ``commit``, if the build of ``commit`` would be equal.

        The builds are the same if the commits differ only in files that the build has not read. None if ``commit`` has
        to be built.
        """
        changed_files = self.find_unread_changes(repository, built_commit, commit, workload, known_commit=built_commit)
        if changed_files is None:
            return None
        try:
            tree, build = self.build(repository, built_commit, workload)
        except BuildFailure:  # The cached build is lost, and the other commit does not build again.
            return None
        if changed_files:
            checkout = tree.with_name(_CHECKOUT)
            try:
                remove_tree(checkout)
                with use_standard_umask():
                    self._write_files(repository, commit, workload, checkout)
                overlay_files(tree, checkout, changed_files, commit)
            except BuildFailure:
                return None
            finally:
                remove_tree(checkout)
        return tree, build.model_copy(update={"built_commit": built_commit})

    def find_unread_changes(
        self, repository: Repository, before: str, after: str, workload: Workload, *, known_commit: str
    ) -> frozenset[str] | None:
        """Return the files that differ between two commits; None if a build reads one of them.

        None as well if the workload does not allow commits to share a build, or if the difference is unknown.

        Parameters
        ----------
        known_commit
            The commit whose build is in the cache, with the list of the files that it read.
        """
        if not _may_share_builds(workload):
            return None
        changed_files = find_changed_files(repository, before, after)
        if changed_files is None:
            return None
        inputs = Inputs(self.folders.get_first_build_folder(self._compute_key(repository, known_commit, workload)))
        return None if any(map(inputs.may_depend_on, changed_files)) else changed_files

    def has_build(self, repository: Repository, commit: str, workload: Workload) -> bool:
        """Return whether the cache seems to have a build; its tree is not checked."""
        record = self._read_record(repository, commit, workload)
        return record is not None and record.is_usable(self.retry_failed)

    def has_successful_build(self, repository: Repository, commit: str, workload: Workload) -> bool:
        """Return whether the cache seems to have a successful build."""
        record = self._read_record(repository, commit, workload)
        return record is not None and not record.failure

    def _read_record(self, repository: Repository, commit: str, workload: Workload) -> BuildRecord | None:
        """Return the record of a build; None if there is none, or it is damaged."""
        try:
            return read_record(self.folders.get_first_build_folder(self._compute_key(repository, commit, workload)))
        except DamagedBuild:
            return None

    def _find_usable_record(self, build_folder: Path) -> BuildRecord | None:
        """Return the record of a build, after restoring its tree to the built state; None if no build is usable."""
        try:
            record = read_record(build_folder)
            if record is None or not record.is_usable(self.retry_failed):
                return None
            if not record.failure:
                restore_original_tree(build_folder / TREE_FOLDER)
            return record
        except DamagedBuild as damage:
            self.report_repeated_build(f"repeating the build in {build_folder}: {damage.what}")
            return None

    def _compute_key(self, repository: Repository, commit: str, workload: Workload, number: int = 0) -> str:
        """Return the name of a build: the commit, and a hash of everything that can change its result."""
        path = get_build_path(workload)
        path = self.sandbox.select_visible_path(path) if self.sandbox else path
        tools = read_build_settings(
            workload.build.command or (), workload.build.needs, path, workload.build.environment
        )
        host_settings = {**self.machine_settings, **read_library_settings(Tree()), **tools}
        # The result file is included because it is left out of the tree's fingerprint. Nothing else in [run] affects a
        # build.
        build_definition = [workload.build.identity, workload.run.output_file]
        readable_folders = self.sandbox.readable_folders if self.sandbox else None
        recipe = [commit, repository.name, build_definition, host_settings, readable_folders]
        if workload.build_uses_own_folder:
            recipe.append(workload.own_digest)
        if workload.build.git:
            recipe.append(hash_visible_tags(repository, commit))
        if number:
            recipe.append(f"build {number}")
        # The commit is for human readers. It is abbreviated, because the path of a build has to be short.
        return f"{commit[:12]}-{hash_document(recipe)}"

    def _build_tree_in_folder(
        self, repository: Repository, commit: str, workload: Workload, build_folder: Path
    ) -> BuildRecord:
        """Build in the folder in which the program will run, because build systems write its path into their output.

        The path is needed by programs to find their shared libraries (CMake's run path), by scripts to find their
        interpreter (virtual environments), and by libtool's wrappers to find the program. If the build is interrupted,
        its folder is removed.
        """
        make_empty_folder(build_folder)
        try:
            record = self._run_and_record_build(repository, commit, workload, build_folder / TREE_FOLDER)
            if record.failure:
                make_empty_folder(build_folder)
            write_record(build_folder, record)
        except BaseException:
            remove_tree(build_folder)
            raise
        return record

    @use_standard_umask()
    def _run_and_record_build(self, repository: Repository, commit: str, workload: Workload, tree: Path) -> BuildRecord:
        """Build a commit into a tree, and return the record of success or failure."""
        began_at_ns = time.time_ns()
        self._write_files(repository, commit, workload, tree)
        failure, build, lookups = self._run_build(repository, commit, workload, tree)
        if not failure and (objection := explain_unusable_tree(tree)):
            failure = f"the tree {objection}"
        if failure:
            return BuildRecord(build=build, failure=failure)
        write_inputs(tree, lookups)
        if self.sandbox:
            self.sandbox.change_owner(tree)
        try:
            return keep_copy(tree.parent, build, workload.run.output_file, began_at_ns)
        except UnreadableTree as error:
            return BuildRecord(build=build, failure=f"the tree {error}")

    def _run_build(
        self, repository: Repository, commit: str, workload: Workload, tree: Path
    ) -> tuple[str, Build, Lookups]:
        """Run the build command; return why it failed, the build, and its file lookups.

        If a build fails while it is traced, for example because it uses ptrace itself, it is repeated untraced.

        Raises
        ------
        BuildFailure
            The build failed for a reason that must not be cached.
        """
        if not self.traces_lookups or not _may_share_builds(workload):
            result = run_build_command(
                workload, tree, self.sandbox, tracer=None, clock=self.clock, reveals_host=self.reveals_host
            )
            return (*result, make_untraced_lookups("the file lookups of the build were not traced"))
        with LookupTracer(is_launched=self.sandbox is not None, is_counted=False) as tracer, suppress(BuildFailure):
            failure, build = run_build_command(
                workload, tree, self.sandbox, tracer, self.clock, reveals_host=self.reveals_host
            )
            if not failure:
                return "", build, tracer.read_lookups()
        # The tracer may have caused the failure, so the untraced build decides.
        remove_tree(tree)
        self._write_files(repository, commit, workload, tree)
        result = run_build_command(
            workload, tree, self.sandbox, tracer=None, clock=self.clock, reveals_host=self.reveals_host
        )
        return (*result, make_untraced_lookups("it fails while it is traced"))

    def _write_files(self, repository: Repository, commit: str, workload: Workload, tree: Path) -> None:
        """Write the files of a commit, or of the workload's folder, into the tree.

        Raises
        ------
        BuildFailure
            The files of the commit are too large, or the clone does not have all of them.
        FaultwatchError
            The disk is full.
        """
        if workload.build.directory == "workload":
            copy_sources(workload.list_own_files(), tree)
            return
        try:
            write_commit(
                repository,
                commit,
                tree,
                refuse_large=self.sandbox is not None,
                refuse_incomplete=not workload.build.incomplete,
            )
            if workload.build.git:
                write_git_directory(repository, commit, tree)
        except TooLargeCheckout as error:
            raise BuildFailure(str(error), Build()) from None
        except IncompleteCheckout as error:
            raise BuildFailure(str(error), Build(), temporary=True, stage=Stage.CHECKOUT) from None
        except GitError as error:
            if is_disk_full(error.what):
                raise
            # This is only a failure of this commit, which is damaged or incomplete: other commits may be complete.
            message = f"{error.what}: {error.remedy}" if error.remedy else error.what
            raise BuildFailure(message, Build(), temporary=True, stage=Stage.CHECKOUT) from None


def _may_share_builds(workload: Workload) -> bool:
    """Return whether the workload allows two commits to share a build."""
    return workload.build.command is not None and not workload.build.git and workload.build.directory != "workload"


def run_build_command(
    workload: Workload,
    tree: Path,
    sandbox: Sandbox | None,
    tracer: LookupTracer | None,
    clock: BuildClock,
    *,
    reveals_host: bool = False,
) -> tuple[str, Build]:
    """Run the build command; return why it failed (empty if it succeeded), and the build.

    Parameters
    ----------
    tracer
        Traces the file lookups of the build; None if they are not needed.
    clock
        Measures the time of the build for its time limit.
    reveals_host
        Whether a failure may name files and tools of this host; see :class:`Builder`.

    Raises
    ------
    BuildFailure
        The build failed for a reason that may be temporary.
    FaultwatchError
        The program of the command is not found on the PATH of the build.
    """
    command = get_build_command(workload)
    if command is None:
        return "", Build()
    command_text = shlex.join(workload.build.command or ())  # As the user wrote it, with placeholders.
    environment = get_build_variables(workload, str(tree))
    log_command(command, tree, "in a sandbox" if sandbox else "")
    if sandbox:
        environment = {**OFFLINE_VARIABLES, **environment}
        sandbox = _prepare_build_sandbox(sandbox, workload, environment)
    # Run the command.
    cpu_seconds_before = _read_children_cpu_seconds()
    try:
        if sandbox:
            result = execute_confined(
                command,
                sandbox=sandbox,
                tree=tree,
                environment=environment,
                timeout=workload.build.timeout,
                tracer=tracer,
                reveals_host=reveals_host,
                read_clock=clock.read,
            )
        else:
            result = execute(
                tracer.wrap_command(command) if tracer else command,
                directory=tree,
                environment=environment,
                timeout=workload.build.timeout,
                merge_streams=True,
                inherited_descriptors=tracer.inherited_descriptors if tracer else (),
                read_clock=clock.read,
            )
    except OSError as error:
        failure = _explain_failed_start(error, workload, tree, sandbox, reveals_host=reveals_host)
        return f"`{command_text}` cannot be executed: {failure}", Build(command=command)
    output = TERMINAL_CODE.sub("", result.output)  # Maven colours its messages even if no terminal shows them.
    log_step("the build took %.1f s%s", result.seconds, f" and {result.problem}" if result.problem else "")
    build = Build(
        command=command,
        seconds=result.seconds,
        cpu_seconds=_read_children_cpu_seconds() - cpu_seconds_before,
        log=hide_secrets(output, os.environ)[-MAX_LOG_CHARACTERS:],
    )
    if not result.problem:
        return "", build
    # Explain why it failed.
    if sandbox and not reveals_host:
        hint = get_hidden_network_hint(output)
    else:
        hint = _find_hint(command, environment, sandbox, tree, output)
    explanation = hint or _find_own_explanation(output, build.log, in_sandbox=bool(sandbox), timed_out=result.timed_out)
    failure = f"`{command_text}` {result.problem}{f': {explanation}' if explanation else ''}"
    if hint or is_temporary(result):  # A hint is about this host, not the revision, so the failure may be temporary.
        raise BuildFailure(failure, build, temporary=True, timed_out=result.timed_out)
    return failure, build


def _prepare_build_sandbox(sandbox: Sandbox, workload: Workload, environment: Mapping[str, str]) -> Sandbox:
    """Return the sandbox in which a workload is built: it hides caches, and shows the workload's own folder."""
    sandbox = replace(sandbox, empty_folders=list_masked_cache_folders(environment, sandbox))
    if workload.build_uses_own_folder:
        return sandbox.add_readable_folder(provide_own_folder(workload))
    return sandbox


def _find_own_explanation(output: str, log: str, *, in_sandbox: bool, timed_out: bool) -> str:
    """Return what a failed build itself says about its failure; empty if it says nothing.

    Outside of a sandbox, its message about a missing network is preferred. A build that exceeds its time limit has no
    error of its own.
    """
    network_error = "" if in_sandbox else _quote_network_error(output)
    return network_error or ("" if timed_out else find_first_error(log))


def _explain_failed_start(
    error: OSError, workload: Workload, tree: Path, sandbox: Sandbox | None, *, reveals_host: bool
) -> str:
    """Return why the program of a build command could not be executed, if it is a file of the checkout.

    Raises
    ------
    FaultwatchError
        The program is not a file of the checkout, and not found on the PATH of the build.
    OSError
        The error is not about the program, but about this host.
    """
    if not isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError) and error.errno != ELOOP:
        raise error
    program = (get_build_command(workload) or ("",))[0]
    if "/" in program:  # Other revisions may have this file.
        if isinstance(error, PermissionError):
            return f"{program} is not executable"
        # In a sandbox, the message must not reveal whether a file of the host exists.
        exists = not sandbox and (tree / program).exists()
        return f"{program} {'has an interpreter that does not exist' if exists else 'does not exist'}"
    path = get_build_path(workload)
    advice = suggest_path(program, path) if reveals_host or not sandbox else ""
    problem = "is not executable" if isinstance(error, PermissionError) else "was not found"
    raise FaultwatchError(
        f"{workload.path}: [build] command: {program!r} {problem} in the folders of PATH, {path}",
        advice or "install it there, or correct the command",
    ) from None


def _find_hint(
    command: Sequence[str], environment: Mapping[str, str], sandbox: Sandbox | None, tree: Path, log: str
) -> str:
    """Return what to change on this host so that a failed build may succeed; empty if no change would help."""
    tool = find_missing_tool(log) or command[0]
    hint = suggest_path(tool, environment["PATH"])
    if hint:
        return hint
    if sandbox:
        return describe_sandbox_failure(command, tool, environment, sandbox, tree, log)
    return _name_missing_part(log, tree)


def _name_missing_part(log: str, tree: Path) -> str:
    """Return what a failed build lacks on this host and how to install it; empty if this is unknown."""
    names = set()
    with suppress(TreeTooLarge):  # The first names suffice: they only show which headers belong to the project.
        for entry in walk_tree(tree):
            names.add(entry.name)
    part = find_missing_dependency(log, names)
    return str(part) if part and (part.packages or part.update) else ""


def _quote_network_error(log: str) -> str:
    """Return the network error in a build's log, and how CMake can work offline; empty if there is no such error."""
    line = hide_password(find_network_error(log))
    remedy = describe_offline_remedy(log)
    return f"{line}{f'. {remedy}' if remedy else ''}" if line else ""


def _read_children_cpu_seconds() -> float:
    """Return the CPU time of the ended children of this process and of their descendants, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
