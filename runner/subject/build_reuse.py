"""Decides which commits use an earlier build instead of one of their own.

A commit is not built if it changes only files that the last build did not read: it uses that build. For the first
commit, the last build is that of the nearest earlier commit whose build is in the cache.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from runner.contract.report import Build
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_inputs import measure_file_sizes
from runner.subject.checked_commits import is_built_anyway
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository
from runner.workload import Workload

_MAX_EARLIER_COMMITS = 20
"""The last build is looked for among so many commits before the first one: after more commits, a file that it has read
has probably changed."""


class BuildReuse:
    """Finds builds that commits can use, and checks some of them by building the commit as well."""

    def __init__(
        self,
        builder: Builder,
        repository: Repository,
        workload: Workload,
        commits: Iterable[str],
        *,
        build_all: bool,
    ) -> None:
        """Begin without a last build.

        Parameters
        ----------
        commits
            The commits in the order in which they will be needed.
        build_all
            Whether to build even commits whose build would be the same as the last one.
        """
        self._builder = builder
        self._repository = repository
        self._workload = workload
        self._builds_all = build_all
        # By commit: the one before it in this order.
        self._previous_commits = {after: before for before, after in pairwise(commits)}
        self._last_built_commit = ""

    def find_same_build(self, commit: str) -> tuple[Path, Build] | None:
        """Return the last build if building ``commit`` would only repeat it; otherwise None.

        None as well if the commit is built as a check, or if the cache has its own build.
        """
        if not self._builds_all and not self._last_built_commit:
            self._last_built_commit = self._find_earlier_built_commit(commit)
        if self._builds_all or not self._last_built_commit or is_built_anyway(commit):
            return None
        if self._builder.has_build(self._repository, commit, self._workload):
            return None
        return self._builder.reuse(self._repository, self._last_built_commit, commit, self._workload)

    def check_build(self, commit: str, tree: Path) -> None:
        """Check reuse by the build of a commit, which becomes the last one."""
        self._stop_reuse_if_wrong(commit, tree)
        self._last_built_commit = commit

    def is_likely(self, commit: str) -> bool:
        """Return whether a commit will probably reuse the build of the previous one."""
        previous_commit = self._previous_commits.get(commit)
        if self._builds_all or not self._last_built_commit or not previous_commit or is_built_anyway(commit):
            return False
        changes = self._builder.find_unread_changes(
            self._repository, previous_commit, commit, self._workload, known_commit=self._last_built_commit
        )
        return changes is not None

    def _find_earlier_built_commit(self, commit: str) -> str:
        """Return the nearest earlier commit whose build is in the cache; empty if there is none."""
        with suppress(GitError):  # The first commit of a history has no earlier one.
            earlier_commits = self._repository.git(
                "rev-list", "--first-parent", f"--max-count={_MAX_EARLIER_COMMITS}", f"{commit}^"
            )
            for earlier_commit in earlier_commits.split():
                if self._builder.has_successful_build(self._repository, earlier_commit, self._workload):
                    return earlier_commit
        return ""

    def _stop_reuse_if_wrong(self, commit: str, tree: Path) -> None:
        """Stop reusing builds if the check of a commit shows that builds depend on files that they have not read."""
        if self._builds_all or not self._last_built_commit or not is_built_anyway(commit):
            return
        last_commit = self._last_built_commit
        changes = self._builder.find_unread_changes(
            self._repository, last_commit, commit, self._workload, known_commit=last_commit
        )
        if changes is None:
            return
        try:
            previous_tree, _ = self._builder.build(self._repository, last_commit, self._workload)
        except BuildFailure:  # The cached build is lost, and cannot be built again, so nothing is compared.
            return
        if measure_file_sizes(previous_tree, changes) != measure_file_sizes(tree, changes):
            self._builds_all = True
            self._builder.report_repeated_build(
                f"{commit[:10]} changes only files that the last build did not read, but its build differs from that "
                "one: from now on, every commit is built"
            )
