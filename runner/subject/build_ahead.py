"""Builds the next revisions while earlier ones are built and measured.

Measuring a revision takes a second, and building it takes many. Therefore worker processes build several revisions at
the same time. While a program is measured, the workers and all their descendants are stopped, so that they do not
disturb the measurement.

A commit that uses the last build (:mod:`runner.subject.build_reuse`) is not built ahead.
"""

import select
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from runner.contract.report import Build
from runner.execution.build_clock import BuildClock
from runner.execution.execution_log import log_step
from runner.execution.own_command import SAFE_DIRECTORY, build_module_command, build_own_environment
from runner.execution.supervision import SupervisedProcess
from runner.execution.supervisor_compilation import get_supervisor
from runner.settings import load_settings
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_reuse import BuildReuse
from runner.subject.build_worker import encode_order
from runner.subject.repository import Repository
from runner.system.pause_processes import pause_descendants
from runner.workload import Workload

MIN_BUILD_SECONDS = 0.5
"""The duration of a build in seconds from which workers are worthwhile: their start takes a few tenths of a second."""
_BUILDS_AHEAD_PER_WORKER = 2
"""How many finished builds per worker may wait to be measured. More would only take disk space."""


class BuildAhead:
    """Builds revisions in order, and the next ones ahead of their measurement."""

    def __init__(
        self,
        builder: Builder,
        repository: Repository,
        workload: Workload,
        commits: Sequence[str],
        n_jobs: int,
        *,
        build_all: bool = True,
        start_at_once: bool = False,
    ) -> None:
        """Prepare to build commits; nothing starts before :meth:`build`.

        Parameters
        ----------
        commits
            The commits in the order in which they will be needed; :meth:`plan_builds` replaces them.
        n_jobs
            How many builds to run at the same time; with 0 or 1, no build runs ahead.
        build_all
            Whether to build even commits whose build would be the same as the last one.
        start_at_once
            Whether to start workers before the first build, when it is not known whether they are worthwhile.
        """
        # File lookups are traced only to find builds that would be the same.
        self._builder = replace(builder, traces_lookups=not build_all)
        self._repository = repository
        self._workload = workload
        self._next_commits = deque(dict.fromkeys(commits))
        self._n_jobs = n_jobs if workload.build.command else 0  # Without a command, only a checkout is written.
        self._workers: list[_Worker] = []
        self._clock = BuildClock()
        self._finished_commits: set[str] = set()
        self._ordered_commits: set[str] = set()
        """The commits that workers were told to build."""
        self._start_at_once = start_at_once
        self._reuse = BuildReuse(self._builder, repository, workload, self._next_commits, build_all=build_all)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.end()

    def plan_builds(self, commits: Sequence[str]) -> None:
        """Set the commits to build next; cancel builds in progress of other commits."""
        commits_in_progress = {worker.commit for worker in self._workers}
        self._next_commits = deque(commit for commit in dict.fromkeys(commits) if commit not in commits_in_progress)
        self._finished_commits.clear()
        unneeded_workers = [worker for worker in self._workers if worker.commit not in {None, *commits}]
        for worker in unneeded_workers:
            worker.end()
            self._workers.remove(worker)
        if unneeded_workers:
            self._start_workers()

    def build(self, commit: str) -> tuple[Path, Build]:
        """Return the tree of a built revision as :meth:`Builder.build` does, and let workers build the next ones."""
        with suppress(ValueError):
            self._next_commits.remove(commit)
        # The last build, if it has read none of the files that have changed since.
        same_build = self._reuse.find_same_build(commit)
        if same_build:
            return same_build
        # The caller knows that building ahead is worthwhile, so do not wait for the first build to show it.
        if self._start_at_once and not self._workers and self._n_jobs > 1 and self._next_commits:
            self._start_workers()
        self._await_build(commit)
        self._finished_commits.discard(commit)
        try:
            tree, build = self._builder.build(self._repository, commit, self._workload)
        except BuildFailure as failure:
            failure.build = self._mark_own_build(failure.build, commit)
            raise
        build = self._mark_own_build(build, commit)
        self._reuse.check_build(commit, tree)
        # If this build took long enough, workers are worthwhile.
        if not self._workers and self._n_jobs > 1 and self._next_commits and build.seconds >= MIN_BUILD_SECONDS:
            self._start_workers()
        self._collect_and_assign_builds()
        return tree, build

    def _mark_own_build(self, build: Build, commit: str) -> Build:
        """Return a build; if a worker of this command has made it, it is marked as not from the cache."""
        return build.model_copy(update={"cached": False}) if commit in self._ordered_commits else build

    def _await_build(self, commit: str) -> None:
        """Wait until a worker has built a commit, telling an idle one to build it; return at once if none can."""
        worker = next((worker for worker in self._workers if worker.commit == commit), None)
        if worker is None and self._workers and not self._builder.has_build(self._repository, commit, self._workload):
            worker = next((worker for worker in self._workers if worker.is_idle), None)
            if worker is not None:
                self._assign_commit(worker, commit)
        self._collect_and_assign_builds()
        if worker is None or worker.commit != commit:
            return
        # While waiting, let other commands measure; the workers are stopped only while they do.
        with self._builder.turn.pause([worker.supervisor for worker in self._workers], self._clock):
            while worker.commit == commit:
                select.select([busy for busy in self._workers if busy.commit is not None], [], [])
                self._collect_and_assign_builds()

    def pause_builds(self) -> AbstractContextManager[None]:
        """Return a context manager in whose context no worker builds."""
        return self._pause_builds() if self._workers else nullcontext()

    @contextmanager
    def _pause_builds(self) -> Iterator[None]:
        """Stop the builds of all workers within the context."""
        with pause_descendants((worker.supervisor for worker in self._workers), self._clock):
            yield
        self._collect_and_assign_builds()

    def _collect_and_assign_builds(self) -> None:
        """Note the builds that workers have finished, and give idle workers the next commits that need a build."""
        for worker in self._workers:
            if worker.has_finished_build():
                self._finished_commits.add(worker.take_finished_commit())
            while (
                worker.is_idle
                and self._next_commits
                and len(self._finished_commits) < _BUILDS_AHEAD_PER_WORKER * self._n_jobs
            ):
                commit = self._next_commits.popleft()
                needs_build = not self._reuse.is_likely(commit) and not self._builder.has_build(
                    self._repository, commit, self._workload
                )
                if needs_build:
                    log_step("another process builds %s ahead", commit[:10])
                    self._assign_commit(worker, commit)

    def _assign_commit(self, worker: "_Worker", commit: str) -> None:
        """Tell a worker to build a commit, and remember that this command has ordered the build."""
        self._ordered_commits.add(commit)
        worker.start_build(commit)

    def _start_workers(self) -> None:
        """Start the missing workers; start none without a supervisor, which would have to end them."""
        program = get_supervisor(load_settings().programs)
        while program is not None and len(self._workers) < self._n_jobs:
            order = encode_order(self._builder, self._repository, self._workload)
            self._workers.append(_Worker(program, order, self._clock))


class _Worker:
    """A process that builds one commit at a time. A supervisor ends it, even while it is stopped.

    Attributes
    ----------
    commit
        The commit that it is building; None if it is idle.
    """

    def __init__(self, program: Path, order: str, clock: BuildClock) -> None:
        """Start the process under a supervisor.

        Parameters
        ----------
        program
            The executable of the supervisor.
        order
            The line from :func:`encode_order`, which says what to build.
        """
        self.commit: str | None = None
        self._is_alive = True
        self._channel, worker_end = socket.socketpair()
        self._answers = self._channel.makefile("rb")
        with worker_end:
            self._process = SupervisedProcess.start(
                build_module_command("runner.subject.build_worker", str(worker_end.fileno()), str(clock.descriptor)),
                supervisor=program,
                directory=Path(SAFE_DIRECTORY),
                environment=build_own_environment(credentials=True),  # It removes their values from the logs of builds.
                merge_streams=True,
                inherited_descriptors=[worker_end.fileno(), clock.descriptor],
            )
        self._send_line(order)

    @property
    def supervisor(self) -> int:
        """The process that waits for the end of the worker."""
        return self._process.pid

    @property
    def is_idle(self) -> bool:
        """Whether it can build a commit now."""
        return self._is_alive and self.commit is None

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the build has ended."""
        return self._channel.fileno()

    def start_build(self, commit: str) -> None:
        """Tell the worker to build a commit. If the worker has ended, the runner will build the commit itself."""
        if self._is_alive:
            self.commit = commit
            self._send_line(commit)

    def has_finished_build(self) -> bool:
        """Return whether the build has ended."""
        return self.commit is not None and bool(select.select([self], [], [], 0)[0])

    def take_finished_commit(self) -> str:
        """Return the commit whose build has ended, and make the worker idle."""
        assert self.commit is not None
        self._is_alive = False
        with suppress(ConnectionResetError):  # It was killed before it read the commit.
            self._is_alive = bool(self._answers.readline())
        commit, self.commit = self.commit, None
        return commit

    def end(self) -> None:
        """Kill the worker and all its descendants."""
        self._process.end()
        self._answers.close()
        self._channel.close()
        for stream in self._process.streams:
            stream.close()

    def _send_line(self, line: str) -> None:
        """Send a line to the worker; note if it has ended."""
        try:
            self._channel.sendall(f"{line}\n".encode())
        except OSError:
            self._is_alive, self.commit = False, None
