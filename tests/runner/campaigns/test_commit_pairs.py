"""Two commits that are built and measured interleaved."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.campaigns import commit_pairs
from runner.campaigns.commit_pairs import CommitNotBuiltError, CommitPairs
from runner.contract.report import Build
from runner.measuring.comparison import Pairs
from runner.subject.build import BuildFailure
from tests.service import reports


class BuilderOfFirstBuilds:
    """A builder with which only the first build of each commit succeeds."""

    def build(self, _repository: object, commit: str, _workload: object, *, number: int = 0) -> tuple[Path, Build]:
        if number:
            raise BuildFailure("the disk is full", Build(), temporary=True)
        return Path(commit), Build()


def compare(monkeypatch: pytest.MonkeyPatch, builder: object) -> Any:
    """Compare two commits with a comparison that asks for a further build at once."""

    def ask_for_further_builds(*_: object, build_further_trials: Any, **__: object) -> object:
        return build_further_trials(1)

    monkeypatch.setattr(commit_pairs, "compare_interleaved_trials", ask_for_further_builds)
    monkeypatch.setattr(commit_pairs, "Trial", lambda *_: object())
    pairs = CommitPairs(SimpleNamespace(name="copy"), None, None, builder)  # type: ignore[arg-type]
    return pairs.compare(
        reports.CASE,
        reports.revision(1),
        reports.revision(2),
        lambda _: None,
        pairs=Pairs(2, 2),  # type: ignore[arg-type, return-value]
    )


def test_the_last_decision_stands_if_a_further_build_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(monkeypatch, BuilderOfFirstBuilds()) is None


def test_a_commit_that_does_not_build_any_more_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenBuilder:
        def build(self, *_: object, **__: object) -> None:
            raise BuildFailure("the compiler is gone", Build())

    with pytest.raises(CommitNotBuiltError, match="the compiler is gone"):
        compare(monkeypatch, BrokenBuilder())
