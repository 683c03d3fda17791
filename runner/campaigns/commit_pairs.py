"""Builds two commits of a repository and measures them interleaved."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from runner.contract.judging import Judging
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.measuring.comparison import ComparisonResult, Decide, Pairs, compare_interleaved_trials
from runner.measuring.trial import Bench, Subject, Trial
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.workload import Workload


class CommitNotBuiltError(FaultwatchError):
    """A commit of a comparison cannot be built."""


class CommitPairs(Struct, frozen=True):
    """Compares commits of a repository with one workload."""

    repository: Repository
    workload: Workload
    bench: Bench
    builder: Builder

    def compare(
        self,
        case: Case,
        base: Revision,
        head: Revision,
        decide: Decide,
        *,
        pairs: Pairs,
        judging: Judging | None = None,
        deadline: float | None = None,
        progress: Callable[[], None] = lambda: None,
    ) -> ComparisonResult:
        """Build two commits, and measure them interleaved until the service has decided or the deadline has passed.

        The parameters are those of :func:`runner.measuring.comparison.compare_interleaved_trials`.

        Raises
        ------
        CommitNotBuiltError
            One of the commits does not build.
        """
        return compare_interleaved_trials(
            self._build_trial(case, base),
            self._build_trial(case, head),
            decide,
            pairs=pairs,
            judging=judging,
            build_further_trials=lambda number: self._build_further_trials(case, base, head, number),
            build_base_in_head_folder=lambda: self._build_commit_in_folder_of(case, base, head),
            deadline=deadline,
            progress=progress,
        )

    def _build_further_trials(
        self, case: Case, base: Revision, head: Revision, number: int
    ) -> tuple[Trial, Trial] | None:
        """Return the trials of further builds of base and head, because counts can differ between builds of one commit.

        None if one of the commits does not build once more.

        Parameters
        ----------
        number
            The number of the build, from 1; the first builds of the commits have the number 0.
        """
        try:
            return self._build_trial(case, base, number), self._build_trial(case, head, number)
        except CommitNotBuiltError:
            return None  # The measurements of the first builds are still valid.

    def _build_trial(self, case: Case, revision: Revision, number: int = 0) -> Trial:
        """Build a commit, unless its build is in the cache; return its trial.

        Raises
        ------
        CommitNotBuiltError
            The commit does not build.
        """
        try:
            tree, build = self.builder.build(self.repository, revision.commit, self.workload, number=number)
        except BuildFailure as failure:
            raise CommitNotBuiltError(
                f"{revision.commit[:10]} cannot be built: {failure.message}",
                "start the command again: it continues where it stopped",
            ) from None
        return Trial(self.workload, Subject(self.repository.name, revision, case, build), self.bench, tree)

    @contextmanager
    def _build_commit_in_folder_of(self, case: Case, revision: Revision, place_revision: Revision) -> Iterator[Trial]:
        """Build a commit in the folder of ``place_revision``; yield its trial, with the other build's record.

        Raises
        ------
        BuildFailure
            One of the two commits does not build.
        """
        place, place_build = self.builder.build(self.repository, place_revision.commit, self.workload)
        subject = Subject(self.repository.name, revision, case, place_build)
        with self.builder.build_revision_in_other_folder(
            self.repository, revision.commit, self.workload, place
        ) as rebuilt_tree:
            yield Trial(self.workload, subject, self.bench, rebuilt_tree)
