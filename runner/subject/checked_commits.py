"""Chooses the one commit in twenty that is built and measured although the earlier build or count could be reused."""

from runner.contract.report import Case, hash_document

_COMMITS_PER_CHECK = 20
"""As a check, one commit in this many is built even if its build should be the same as the last one."""
RUNS_PER_CHECK = 20
"""One revision in this many is measured even if its counts could be reused."""


def is_built_anyway(commit: str) -> bool:
    """Return whether a commit is one of the 5 % that are built even if their build should be the same.

    The choice is always the same for a commit.
    """
    return int(hash_document([commit, "build"]), 16) % _COMMITS_PER_CHECK == 0


def is_measured_anyway(commit: str, case: Case) -> bool:
    """Return whether a run is one of the 5 % that are measured even if their counts could be reused.

    The choice is pseudorandom, but always the same for a commit and a case.
    """
    return int(hash_document([commit, case.name, case.definition]), 16) % RUNS_PER_CHECK == 0
