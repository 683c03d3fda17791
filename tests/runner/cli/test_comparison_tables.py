"""A comparison on a terminal: what decides, what else differs and in which unit, and in one line what was not there."""

import pytest
from rich.console import Console

from runner.cli.comparison_tables import print_log_tail, show_comparison
from runner.cli.next_command import TypedTarget
from runner.contract.comparison import Comparison, ComparisonRequest, MetricVerdict, Side, Verdict
from runner.contract.mapped_files import ProgramFiles
from runner.contract.report import Reading, Sample, Status
from runner.measuring.comparison import ComparisonResult
from service.rules.comparison import comparison_verdict
from tests.runner.sample_reports import report

TARGET = TypedTarget("w", "bench.toml", "./seeds")


def row(name: str, base: float, head: float, *, counts: bool = False) -> MetricVerdict:
    sides = [Side(level=level, low=level, high=level, n=2, n_at_level=2) for level in (base, head)]
    return MetricVerdict(
        metric=name,
        verdict=Verdict.SAME if base == head else Verdict.CHANGED,
        counts=counts,
        rule="exact",
        base=sides[0],
        head=sides[1],
        change=head - base,
        percent=None,
        direction=None,
        bounds=None,
        threshold=None,
        sentence="As it is.",
    )


def test_a_large_difference_that_is_none_says_why_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    update = {"verdict": Verdict.SAME, "same_because": "same bytes"}
    rows = (
        row("minor-faults", 73, 9000, counts=True).model_copy(update=update),
        row("major-faults", 0, 0, counts=True),
    )
    show_comparison(
        ComparisonResult(
            report(), report(), Comparison(verdict=Verdict.SAME, remaining_pairs=0, metrics=rows, settings=())
        ),
        TARGET,
    )
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "minor-faults 73 9,000 +8,927 same: same bytes" in lines
    assert "major-faults 0 0 0 same" in lines


def test_what_decides_is_a_row_and_what_was_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        row("context-switches", 0, 0),
        row("task-clock", 0.5, 0.7),
        row("max-rss", 4096, 8192),
        row("minor-faults", 73, 77, counts=True),
        row("major-faults", 0, 0, counts=True),
    )
    decided = Comparison(verdict=Verdict.CHANGED, remaining_pairs=0, metrics=rows, settings=())
    show_comparison(ComparisonResult(report(), report(), decided), TARGET)
    text = capsys.readouterr().out
    told = [line.split()[:3] for line in text.rpartition("─")[2].partition("0 on both sides")[0].splitlines()]
    assert [line for line in told if line] == [
        ["minor-faults", "73", "77"],
        ["major-faults", "0", "0"],
        ["task-clock", "500", "ms"],
        ["max-rss", "4", "KiB"],
    ]
    assert "0 on both sides: context-switches\n" in text


def told(capsys: pytest.CaptureFixture[str], *rows: MetricVerdict, same_bytes: bool = False) -> list[str]:
    verdict = Verdict.CHANGED if any(row.counts and row.direction for row in rows) else Verdict.SAME
    decided = Comparison(verdict=verdict, remaining_pairs=0, metrics=rows, settings=(), same_bytes=same_bytes)
    show_comparison(ComparisonResult(report(), report(), decided), TARGET)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_metric_that_does_not_count_is_not_judged_here_as_in_the_comment(capsys: pytest.CaptureFixture[str]) -> None:
    worse = {"direction": "regression", "over_budget": True}
    lines = told(
        capsys,
        row("minor-faults", 73, 77, counts=True).model_copy(update=worse),
        row("task-clock", 0.5, 0.7).model_copy(update={"direction": "regression"}),
    )
    assert "minor-faults 73 77 +4 worse, budget 0 faults" in lines
    assert "task-clock 500 ms 700 ms +200 ms not judged" in lines


def test_what_got_worse_is_followed_by_the_command_that_profiles_it(capsys: pytest.CaptureFixture[str]) -> None:
    commit, case = report().revision.commit[:10], report().case
    where = f"{commit}..{commit} --repo ./seeds --case {case.name}"
    command = f"`faultwatch profile bench.toml {where}` shows where the change comes from"
    worse = row("minor-faults", 73, 77, counts=True).model_copy(update={"direction": "regression"})
    assert command in told(capsys, worse)
    better = worse.model_copy(update={"direction": "improvement"})
    unjudged = worse.model_copy(update={"counts": False})
    assert not [line for line in told(capsys, better, unjudged) if "profile" in line]


def test_one_sentence_about_several_metrics_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(name, 73, 73, counts=True) for name in ("minor-faults", "major-faults")]
    lines = told(capsys, *rows, same_bytes=True)
    assert [line for line in lines if "As it is." in line] == ["minor-faults, major-faults: As it is."]
    assert "same after 1 pair: same bytes" in lines


def test_a_side_without_a_value_says_why_once(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ("file-faults", "anonymous-faults")
    why = "the watched execution had 130 faults, and no sample had the same number"
    missing = dict.fromkeys(kinds, Reading(status=Status.NOT_COUNTED, reason=why))
    base, head = (
        report().model_copy(update={"samples": (Sample(readings=readings),)})
        for readings in (dict.fromkeys(kinds, Reading(value=7)), missing)
    )
    for stored in (False, True):
        decided = comparison_verdict.decide_comparison(ComparisonRequest(base=base, head=head, base_stored=stored))
        show_comparison(ComparisonResult(base, head, decided, base_stored=stored), TARGET)
        text = capsys.readouterr().out
        said = f"  file-faults, anonymous-faults: Head has no value for this metric: {why}.\n"
        assert text.count(said) == 1


def test_a_side_that_could_not_be_watched_is_said_to_depend_on_the_page_cache(
    capsys: pytest.CaptureFixture[str],
) -> None:
    comparison = Comparison(
        verdict=Verdict.SAME, remaining_pairs=0, metrics=(row("minor-faults", 7, 7, counts=True),), settings=()
    )
    watched = report().model_copy(update={"files": ProgramFiles(mapped=(), own_bytes="", system_bytes="")})
    show_comparison(ComparisonResult(watched, watched, comparison), TARGET)
    assert "watched" not in capsys.readouterr().out
    show_comparison(ComparisonResult(watched, watched.model_copy(update={"files": None}), comparison), TARGET)
    assert "head: Faultwatch could not trace any execution" in capsys.readouterr().out


def test_a_narrow_terminal_breaks_no_name_and_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = {side: Side(level=0.0175, low=0.0168, high=0.0211, n=20, n_at_level=1) for side in ("base", "head")}
    rows = (
        row("minor-faults", 10_299, 20_539, counts=True).model_copy(update={"percent": 99.4}),
        row("anonymous-faults", 10_254, 20_494).model_copy(update={"percent": 99.9}),
        row("cgroup:pgfault", 10_300, 20_540),
        row("task-clock", 0.0175, 0.0368).model_copy(update={"percent": 111.0, **noisy}),
        row("faults-per-operation", 168, 2_130).model_copy(update={"percent": 1_168.0}),
    )
    decided = Comparison(verdict=Verdict.CHANGED, remaining_pairs=0, metrics=rows, settings=())
    shown = {}
    for columns in ("80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        show_comparison(ComparisonResult(report(), report(), decided), TARGET)
        shown[columns] = (
            capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
        )
    for whole in (
        "minor-faults",
        "anonymous-faults",
        "faults-per-operation",
        "cgroup:pgfault",
        "(+99.4 %)",
        "(+111 %)",
        "[16.8 –",
        "21.1 ms]",
    ):
        assert whole in shown["80"], shown["80"]
    assert "17.5 ms [16.8 – 21.1 ms]" in shown["200"]


@pytest.mark.parametrize(("log", "title"), [("x\n", "the last line"), ("x\ny\n", "the last 2 lines"), ("", "")])
def test_the_end_of_a_log_has_a_title(log: str, title: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_log_tail(Console(), log)
    assert capsys.readouterr().out.split(" of the log:")[0].strip() == title
