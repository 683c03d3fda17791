"""The commits that a history proves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from runner.cli.history import PreparedHistory
from runner.subject.repository import Repository

Run = Callable[..., str]


def test_between_commits_of_which_none_is_an_ancestor_of_the_other_there_are_none(
    git: Run, commit: Run, tmp_path: Path
) -> None:
    first, middle, last = (commit(title) for title in ("First", "Middle", "Last"))
    git("checkout", "--quiet", "--orphan", "rewritten")
    rewritten = commit("A history without the old one")
    nothing = cast("Any", None)
    repository = Repository(tmp_path / "subject", "subject")
    history = PreparedHistory(nothing, repository, "HEAD", nothing, (), nothing, (), nothing, nothing)
    assert history._list_commits_between(first, last) == [middle]
    assert history._list_commits_between(last, first) == []
    assert history._list_commits_between(last, rewritten) == []
