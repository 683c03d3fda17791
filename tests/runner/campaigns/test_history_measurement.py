"""Which runs of a history are measured although their counts could be reused."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from runner.campaigns import history_measurement
from runner.campaigns.history_measurement import HistoryMeasurement
from runner.contract.plan import PlannedRun
from runner.contract.report import Failure, Report, Revision, Stage
from runner.contract.reused_counts import ReusedCounts
from tests.service import reports


def list_measured(kinds: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Return the number of each commit in the order of its runs, and whether its counts were reused."""

    def measure(
        _self: object, revision: Revision, _builds: object, runs: Sequence[PlannedRun], *_: object, **__: object
    ) -> Iterator[tuple[PlannedRun, Report, int]]:
        number = int(revision.commit, 16)
        kind = kinds[number - 1] if runs[0].reason == "missing" else "same"
        changes: dict[str, Any] = {"failure": Failure(stage=Stage.BUILD, message="broken")} if kind == "broken" else {}
        report = reports.report(number, *([] if changes else [200 if kind == "changed" else 100]), **changes)
        if kind == "reused":
            report = report.model_copy(update={"reused": ReusedCounts(run_id=report.run_id, commit=reports.commit(1))})
        yield runs[0], report, 2

    monkeypatch.setattr(HistoryMeasurement, "_measure_revision", measure)
    monkeypatch.setattr(history_measurement, "BuildAhead", lambda *_, **__: nullcontext())
    history = HistoryMeasurement(*[SimpleNamespace(name="copy")] * 7)  # type: ignore[arg-type]
    revisions = [reports.revision(number) for number in range(1, len(kinds) + 1)]
    runs = [PlannedRun(revision=revision.commit, case=reports.CASE) for revision in revisions]
    measured = history._measure_runs(runs, revisions, {}, SimpleNamespace())  # type: ignore[arg-type]
    return [(int(report.revision.commit, 16), report.reused is not None) for report, _ in measured]


def test_the_run_before_a_change_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_measured(["same", "reused", "changed"], monkeypatch)[2:] == [(3, False), (2, False)]
    assert list_measured(["same", "reused", "same"], monkeypatch)[2:] == [(3, False)]


def test_the_run_before_a_change_is_measured_even_if_commits_between_them_do_not_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = list_measured(["same", "reused", "broken", "changed"], monkeypatch)
    assert measured[2:] == [(3, False), (4, False), (2, False)]


@pytest.mark.parametrize(
    ("leaves_doubts_to_pairs", "levels", "left"),
    [
        (True, {}, True),
        (True, {"minor-faults": 100}, False),
        (True, None, False),
        (False, {}, False),
    ],
)
def test_reruns_are_left_out_where_the_count_varies_and_pairs_follow(
    leaves_doubts_to_pairs: bool, levels: dict[str, int] | None, left: bool
) -> None:
    history = HistoryMeasurement(
        *[SimpleNamespace(name="copy")] * 7,  # type: ignore[arg-type]
        leaves_doubts_to_pairs=leaves_doubts_to_pairs,
    )
    levels_by_case = {} if levels is None else {reports.CASE.name: levels}
    assert history._leaves_reruns_to_pairs(reports.CASE, levels_by_case) is left
