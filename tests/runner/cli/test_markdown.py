import re

from hypothesis import given
from hypothesis import strategies as st

from runner.cli.markdown import MOST_CASES, summary, text
from runner.compare import Compared
from runner.contract.comparison import Comparison, MetricVerdict, Side, Verdict
from runner.contract.report import Failure, Outcome, Stage
from runner.gate import GateVerdict
from tests.runner.made import report


def compared(base: int, head: int, *, over: bool = False) -> Compared:
    told = MetricVerdict(
        metric="minor-faults",
        verdict=Verdict.SAME if base == head else Verdict.CHANGED,
        counts=True,
        rule="exact",
        base=Side(level=base, low=base, high=base, n=5, agree=5),
        head=Side(level=head, low=head, high=head, n=5, agree=5),
        change=head - base,
        percent=100 * (head - base) / base if base else None,
        direction=None if base == head else "regression" if head > base else "improvement",
        bounds=None,
        threshold=1,
        sentence="",
        over=over,
    )
    return Compared(report(), report(), Comparison(verdict=told.verdict, more=0, metrics=(told,), knobs=()))


def plain(markdown: str) -> str:
    return re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), markdown)


def test_says_the_verdict_first_and_shows_one_fault_more() -> None:
    said = plain(summary(GateVerdict.REGRESSED, [compared(100, 100), compared(53_337, 53_338, over=True)]))
    assert said.startswith("## Faultwatch: Something became worse by more than its budget.\n")
    row = "| minor-faults | 53,337 | 53,338 | +1 (+0.00187 %) | 0 | regression, over its budget |"
    assert row in said
    assert said.index(row) < said.index("The same: 1")


def test_a_base_of_zero_has_no_percentage() -> None:
    assert "| 0 | 3 | +3 | 0 | regression |" in plain(summary(GateVerdict.CHANGED, [compared(0, 3)]))


def test_a_build_that_failed_shows_its_log_and_the_log_stays_a_log() -> None:
    log = "cc: no\n\n</pre><img src=x>\n\n# heading\n@everyone"
    failure = Failure(stage=Stage.BUILD, message="make ended with 2 | <b>", log=log)
    head = report().model_copy(update={"outcome": Outcome.FAILED, "samples": (), "failure": failure})
    said = summary(GateVerdict.FAILED, [Compared(report(), head, None)])
    assert "<img" not in said
    assert "<b>" not in said
    assert "\n\n# heading" not in said
    assert "make ended with 2 | <b>" in plain(said)


def test_many_cases_stay_below_what_github_takes() -> None:
    said = summary(GateVerdict.SAME, [compared(1, 1)] * (MOST_CASES + 5))
    assert "5 more cases are in the report" in said
    assert len(said.encode()) < 2**20


@given(st.text())
def test_strangers_text_holds_no_sign_of_markdown(said: str) -> None:
    shown = text(said)
    assert not re.search(r"[<>|`*_\[\]@\\~:/.!\n]", shown)
    assert plain(shown) == " ".join(said.split())
