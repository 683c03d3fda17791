"""The comment and the check run, as text. FAULTWATCH_GOLDEN=write writes the texts again."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from runner.contract import Stage
from runner.contract.canary import Canary, CanaryCount
from runner.contract.diagnosis import Difference, DifferencePart, FaultCause
from runner.contract.explanation import Explanation, MeasuredRemedy
from runner.contract.gate import GateReport, JudgeChange
from runner.contract.report import Reading
from service.forges import comment_text
from service.forges.comment_links import Links, build_links
from service.forges.github import check_run
from service.rules.gate.case_diagnosis import CaseDiagnosis
from service.rules.gate.gradual_regression import Baseline
from service.rules.gate.verdict import Acceptance, GateState, judge_gate
from service.text.markdown import format_block, format_code
from tests.service.forges import made_gates

GOLDEN = Path(__file__).with_name("golden_comments")
COMMITS = "https://forge.example.org/octo-org/copies/commit/"
LINKS = Links(
    "https://faults.example.org/compare?base=ba5e&head=4ead",
    "https://ci.example.org/runs/1",
    "https://faults.example.org/definitions",
    COMMITS,
    reads_comments=True,
)
MARKER = comment_text.build_marker(made_gates.REPOSITORY, 7)
OVER = made_gates.case([100] * 30, [101] * 30, file="bench/workload.toml", lines={"minor-faults": 12})
BETTER = made_gates.case([100] * 30, [60] * 30, mib=8)
SAME = made_gates.case([100] * 30, [100] * 30, mib=16)
SLOWER = [900.0, 901.0] * 15, [400.0, 402.0] * 15
SETTINGS = {
    "kernel.release": "6.1.0-18-amd64",
    "libc.version": "glibc 2.36 (libc.so.6, sha256 6b4a45352fd0)",
    "allocator": "glibc 2.36",
    "thp.enabled": "madvise",
}
NOISE = tuple([1000.0 + 40 * (n * step % 11) for n in range(30)] for step in (3, 5))
HOSTILE = "</code>|`@octo-org/all` #1 [x](javascript:1) ![](http://x.example)\u202e\x1b[31m *b* $a$ :tada:\n\n# h"

JUDGE_CHANGES = (
    JudgeChange(key="metrics.budget.minor-faults", before=("10",), after=("2000",)),
    JudgeChange(key="workload.max_samples", before=("400",), after=("2",)),
    JudgeChange(key="matrix", before=("n=9",), after=("n=5", HOSTILE)),
    JudgeChange(key="run.command", before=("./prog",), after=(HOSTILE,)),
    JudgeChange(key="folder"),
)

REPORTS: dict[str, tuple[GateReport, Acceptance | None, GateState]] = {
    "worse": (made_gates.gate(OVER, BETTER, SAME), None, GateState.OVER),
    "within": (
        made_gates.gate(made_gates.case([100] * 30, [101] * 30, budgets={"minor-faults": "2 %"})),
        None,
        GateState.WITHIN,
    ),
    "better": (made_gates.gate(SAME, BETTER), None, GateState.BETTER),
    "same": (made_gates.gate(SAME), None, GateState.SAME),
    "from-zero": (made_gates.gate(made_gates.case([0] * 30, [3] * 30)), None, GateState.OVER),
    "slower-but-not-judged": (
        made_gates.gate(made_gates.case([100] * 30, [100] * 30, speeds=SLOWER), SAME),
        None,
        GateState.SAME,
    ),
    "worse-and-slower": (
        made_gates.gate(
            made_gates.case([100] * 30, [150] * 30, speeds=SLOWER, settings=(SETTINGS, SETTINGS)),
            SAME,
            caveat="The only input is empty | so *nothing* is parsed",
        ),
        None,
        GateState.OVER,
    ),
    "undecided": (
        made_gates.gate(made_gates.case([100, 101, 100, 103], [101, 104, 105, 100])),
        None,
        GateState.UNDECIDED,
    ),
    "noisy-undecided": (
        made_gates.gate(made_gates.case([100] * 30, [100] * 30, speeds=NOISE, judge=("throughput",)), SAME),
        None,
        GateState.UNDECIDED,
    ),
    "better-and-undecided": (
        made_gates.gate(made_gates.case([100, 101, 100, 103], [101, 104, 105, 100]), BETTER),
        None,
        GateState.UNDECIDED,
    ),
    "judged-same": (
        made_gates.gate(made_gates.case([100] * 30, [100] * 30, judge=("throughput",)), SAME),
        None,
        GateState.SAME,
    ),
    "may-exceed": (
        made_gates.gate(
            made_gates.case(
                [100] * 30,
                [100] * 30,
                speeds=([1000.0] * 30, [930.0, 970.0] * 15),
                judge=("throughput",),
                budgets={"throughput": "5 %"},
            )
        ),
        None,
        GateState.UNDECIDED,
    ),
    "missing": (
        made_gates.gate(made_gates.case([100] * 30, [100] * 30, judge=("elapsed",)), SAME),
        None,
        GateState.UNDECIDED,
    ),
    "missing-in-head": (
        made_gates.gate(
            *(
                made_gates.lacking_in_head(case, "minor-faults", f"no sample took as many: {HOSTILE}")
                for case in (SAME, BETTER)
            ),
            made_gates.lacking_in_head(
                made_gates.case([9] * 30, [9] * 30), "throughput", "the program did not print it"
            ),
        ),
        None,
        GateState.HEAD_LACKS,
    ),
    "intermittent": (
        made_gates.gate(made_gates.case([100] * 60, [100, 1100, 100] * 20)),
        None,
        GateState.OVER,
    ),
    "accepted": (made_gates.gate(OVER), Acceptance("ada", "a cache | of *one* page"), GateState.OVER),
    "head-fails": (
        made_gates.gate(made_gates.failed("head", log="a.c:1: error: `x` ```\n@ada\n"), SAME),
        None,
        GateState.HEAD_FAILED,
    ),
    "base-fails": (
        made_gates.gate(made_gates.failed("base", stage=Stage.RUN, message="exit 1", head_runs=True)),
        None,
        GateState.BASE_FAILED,
    ),
    "both-fail": (
        made_gates.gate(
            made_gates.failed("base", stage=Stage.RUN, message="exit 1", log="Killed\n", head_stage=Stage.RUN)
        ),
        None,
        GateState.NOTHING,
    ),
    "allowed-to-fail": (
        made_gates.gate(made_gates.failed("base", stage=Stage.RUN, message="exit 1"), may_be_unmeasured=True),
        None,
        GateState.NOTHING,
    ),
    "one-unmeasured": (
        made_gates.gate(made_gates.failed("base", stage=Stage.RUN, message="exit 1"), SAME),
        None,
        GateState.UNMEASURED,
    ),
    "same-bytes": (made_gates.gate(made_gates.of_same_bytes([100] * 30, [100] * 30)), None, GateState.SAME),
    "same-bytes-that-differ": (
        made_gates.gate(made_gates.of_same_bytes([359] * 30, [1359] * 30)),
        None,
        GateState.OVER,
    ),
    "same-bytes-in-one": (
        made_gates.gate(OVER, made_gates.of_same_bytes([100] * 30, [100] * 30)),
        None,
        GateState.OVER,
    ),
    "environment": (
        made_gates.gate(
            made_gates.case([9] * 30, [9] * 30, settings=({"thp": "always"}, {"thp": "never", "new": "1"}))
        ),
        None,
        GateState.SAME,
    ),
    "hostile": (
        made_gates.gate(made_gates.case([1] * 30, [2] * 30, mib=HOSTILE)),
        Acceptance("@x", HOSTILE),
        GateState.OVER,
    ),
    "nothing": (made_gates.gate(), None, GateState.NOTHING),
    "crept": (
        made_gates.gate(made_gates.case([108] * 30, [110] * 30, budgets={"minor-faults": "5 %"}), SAME),
        None,
        GateState.GRADUALLY_OVER,
    ),
    "stored": (made_gates.gate(SAME.model_copy(update={"base_stored": True}), BETTER), None, GateState.BETTER),
    "profiled": (made_gates.gate(OVER, SAME), None, GateState.OVER),
    "judge-changed": (made_gates.gate(SAME, judged_by="target", changes=JUDGE_CHANGES), None, GateState.SAME),
    "judge-accepted": (
        made_gates.gate(SAME, judged_by="target", changes=JUDGE_CHANGES[:1]),
        Acceptance("ada", "wanted"),
        GateState.SAME,
    ),
    "judged-by-head": (made_gates.gate(SAME, judged_by="head"), None, GateState.SAME),
    "old-base-fails": (
        made_gates.gate(made_gates.failed("base", head_runs=True), SAME, target="f" * 40),
        None,
        GateState.OLD_BASE_FAILED,
    ),
    "disturbed": (made_gates.gate(made_gates.skipped_for_head(), SAME), None, GateState.DISTURBED),
    "added": (made_gates.gate(made_gates.added(), SAME), None, GateState.SAME),
    "merged": (made_gates.merged(OVER), None, GateState.OVER),
}
WORDS = {
    GateState.HEAD_FAILED: "failed",
    GateState.OVER: "regressed",
    GateState.GRADUALLY_OVER: "regressed",
    GateState.BASE_FAILED: "undecided",  # else nobody could mend it
    GateState.UNDECIDED: "undecided",
    GateState.UNMEASURED: "undecided",
    GateState.WITHIN: "changed",
    GateState.BETTER: "improved",
    GateState.SAME: "same",
    GateState.NOTHING: "failed",
    GateState.DISTURBED: "failed",
    GateState.OLD_BASE_FAILED: "undecided",
    GateState.HEAD_LACKS: "undecided",
}
SINCE = {"crept": {(0, "minor-faults"): Baseline(100, "5ace" * 10)}}
DIAGNOSES = {
    "profiled": (
        CaseDiagnosis(
            OVER.head.case.name,
            "Memory is given back and touched again",
            "about 12 ms more CPU time per execution",
            ((1_024, "main › copy › <b>, in copy at copy.c:42"), (1, "x|y")),
            place="copy at copy.c:42",
            other_growth=-1_024,
        ),
    )
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_comment_reads_as_it_did(name: str) -> None:
    report, accepted, state = REPORTS[name]
    finding = replace(
        judge_gate(report, accepted).with_baselines(SINCE.get(name, {})), diagnoses=DIAGNOSES.get(name, ())
    )
    assert finding.state is state
    open_judge = finding.changes_to_accept and not accepted
    assert finding.verdict == ("undecided" if report.may_be_unmeasured or open_judge else WORDS[state])
    assert finding.passed is (not finding.needs_acceptance and finding.verdict.value != "failed") or accepted
    written = comment_text.build_comment(finding, LINKS, MARKER)
    file = GOLDEN / f"{name}.md"
    if os.environ.get("FAULTWATCH_GOLDEN") == "write":
        file.write_text(written)
    assert written == file.read_text()


def test_every_text_belongs_to_a_test() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(REPORTS)


def test_a_table_too_long_is_cut_between_rows_and_says_so() -> None:
    cases = [made_gates.case([9] * 30, [10 + number] * 30, mib=f"{number}{'x' * 90}") for number in range(500)]
    written = comment_text.build_comment(judge_gate(made_gates.gate(*cases)), LINKS, MARKER)
    assert comment_text.MAX_COMMENT_BYTES - 2_000 < len(written.encode()) <= comment_text.MAX_COMMENT_BYTES
    shown = sum(line.startswith("| <code>") for line in written.splitlines())
    assert [int(left) for left in re.findall(r"and (\d+) more rows", written)] == [500 - shown, 500]
    assert written.rstrip().endswith(MARKER)
    assert _rows(written) == {7}


_TEXTS = st.text(st.sampled_from("@#|`<>&*_[]()!~$:\\\n\r\t\u202e\u2028\x00\x1b \u0301ab1.wé😀-"), max_size=200)


@settings(max_examples=25)
@given(st.lists(_TEXTS, min_size=1, max_size=4), _TEXTS, st.integers(1, 40))
def test_nothing_that_a_repository_writes_gets_out_of_its_place(texts: list[str], log: str, repeat: int) -> None:
    settings = {f"{text[:50]}{number}": text for number, text in enumerate(texts)}
    cases = [made_gates.case([1] * 30, [2] * 30, mib=text * repeat, settings=(settings, {})) for text in texts]
    cases += [made_gates.failed("head", message=text * 4, log=log * 400) for text in texts]
    cases += [
        made_gates.lacking_in_head(SAME, "minor-faults", text * repeat) for text in texts if len(text) * repeat <= 1000
    ]
    report = made_gates.gate(*cases)
    written = comment_text.build_comment(judge_gate(report, Acceptance(texts[0], texts[-1])), LINKS, MARKER)
    assert len(written.encode()) <= comment_text.MAX_COMMENT_BYTES
    assert _rows(written) == {3, 7}
    found = check_run.render_check_run(judge_gate(report), LINKS)
    assert len(found.summary.encode()) <= check_run.MAX_SUMMARY_BYTES
    assert found.title.isprintable()
    assert _rows(found.summary) == {3, 7}


@given(_TEXTS)
def test_what_is_shown_is_what_was_written(text: str) -> None:
    seen = text.strip().isprintable() and text.strip()
    if seen:
        html = MarkdownIt("commonmark").render(f"| {format_code(text, 300)} |")
        shown = re.sub(r"&#?\w+;", lambda found: _ENTITIES[found[0]], re.sub(r"</?[a-z]+>", "", html))
        assert text.strip() in shown


@given(_TEXTS)
def test_a_block_ends_where_it_is_to_end(text: str) -> None:
    tokens = [token.type for token in MarkdownIt("commonmark").parse(f"a\n\n{format_block(text, 500)}\n\nb\n")]
    assert tokens == [*_PARAGRAPH, "fence", *_PARAGRAPH]


_PARAGRAPH = ("paragraph_open", "inline", "paragraph_close")
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"'}


def _rows(written: str) -> set[int]:
    """Return how many cells the rows have, having seen that there is no markup but ours."""
    tokens = MarkdownIt("commonmark").enable("table").parse(written)
    cells, widths = 0, set()
    for token in tokens:
        cells = 0 if token.type == "tr_open" else cells + token.type.endswith(("td_open", "th_open"))
        if token.type == "tr_close":
            widths.add(cells)
        if token.type == "html_block":
            assert re.fullmatch(
                r"(</?details>|<summary>[\w ,:]+</summary>|<!-- faultwatch gate \S+ -->|\s)*", token.content
            ), token.content
        for inner in token.children or ():
            assert inner.type in {"text", "html_inline", "strong_open", "strong_close", "link_open", "link_close"} | {
                "softbreak"
            }, inner
            if inner.type == "html_inline":
                assert inner.content in {"<code>", "</code>"} or inner.content == MARKER, inner.content
            if inner.type == "link_open":
                assert inner.attrs["href"] in {
                    LINKS.compare,
                    LINKS.log,
                    LINKS.definitions,
                    COMMITS + made_gates.BASE,
                    COMMITS + made_gates.HEAD,
                }
        if token.type == "inline":
            assert "@" not in token.content.replace(MARKER, "")
    return widths


def explained(place: str, sentence: str = "touches more pages that had been unmapped") -> GateReport:
    """Return a gate whose case got worse, with an explanation that names a place."""
    part = DifferencePart(cause=FaultCause.AFTER_MUNMAP, before=5, after=105, place=place, sentence=sentence)
    remedy = MeasuredRemedy(
        text="keep", settings={"env.KEEP": "1"}, metric="minor-faults", base=100, unchanged=200, remedied=103, pairs=6
    )
    explanation = Explanation(difference=Difference(before=5, after=105, parts=(part,)), remedy=remedy)
    return made_gates.gate(made_gates.case([100] * 30, [200] * 30, explanation=explanation))


def test_the_first_line_says_why_and_what_takes_it_back() -> None:
    outcome = judge_gate(explained("sum at sums.c:10"))
    first, _, _ = comment_text.build_comment(outcome, LINKS, MARKER).partition("\n")
    assert f"{format_code('sum at sums.c:10')} touches more pages that had been unmapped: +100 faults." in first
    share = "97\N{NARROW NO-BREAK SPACE}%"
    assert f"{format_code('KEEP=1')} undoes {share} of the change in minor faults, measured in 6 pairs." in first
    # The title of a check run has the verdict, so its text begins with the reason.
    assert comment_text.build_summary(outcome, LINKS, 10_000).startswith(format_code("sum at sums.c:10"))


def test_a_place_of_a_strangers_program_is_shown_as_code() -> None:
    first, _, _ = comment_text.build_comment(judge_gate(explained(HOSTILE)), LINKS, MARKER).partition("\n\n")
    assert format_code(HOSTILE) in first
    assert "[x](javascript:1)" not in first.replace(format_code(HOSTILE), "")


def test_a_file_of_a_strangers_program_is_shown_as_code() -> None:
    gate = explained("main", f"touches more pages of {HOSTILE}, which it did not load before")
    first, _, _ = comment_text.build_comment(judge_gate(gate), LINKS, MARKER).partition("\n\n")
    assert " touches more pages of <code>" in first
    assert "which it did not load before: +100 faults." in first
    for markup in ("](javascript:1)", "<script", "@", "`", "\n"):
        assert markup not in first.replace(MARKER, "")


def test_the_first_line_says_how_much_time_the_faults_cost() -> None:
    canary = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=9, counted=(9,)),), seconds_per_fault=1e-6)
    case = made_gates.case([100] * 30, [2_100] * 30)
    priced = case.model_copy(update={"head": case.head.model_copy(update={"canary": canary})})
    first, _, _ = comment_text.build_comment(judge_gate(made_gates.gate(priced)), LINKS, MARKER).partition("\n")
    assert "+2,000 faults (+2,000 %), about +2 ms of CPU time, in" in first.replace("\N{NO-BREAK SPACE}", " ").replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )


def test_no_time_is_put_on_faults_if_the_programs_own_time_clearly_fell() -> None:
    canary = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=9, counted=(9,)),), seconds_per_fault=1e-6)
    case = made_gates.case([100] * 30, [2_100] * 30)
    sides = {"base": 1.0, "head": 0.6}
    faster = {
        name: (side := getattr(case, name)).model_copy(
            update={
                "canary": canary,
                "samples": tuple(
                    sample.model_copy(
                        update={"readings": dict(sample.readings) | {"user-time": Reading(value=seconds)}}
                    )
                    for sample in side.samples
                ),
            }
        )
        for name, seconds in sides.items()
    }
    outcome = judge_gate(made_gates.gate(case.model_copy(update=faster)))
    comment = comment_text.build_comment(outcome, LINKS, MARKER)
    assert "about" not in comment.partition("\n")[0]
    assert "<code>user-time</code> is better" in comment


def test_a_job_that_nothing_else_watches_says_that_merging_accepts() -> None:
    links = Links(needs_merge=True)
    sentence = "If this change is intended, merge the pull request despite the failed check"
    assert sentence in comment_text.build_comment(judge_gate(made_gates.gate(OVER)), links, MARKER)
    assert sentence not in comment_text.build_comment(judge_gate(made_gates.gate(SAME)), links, MARKER)


@pytest.mark.parametrize(
    ("forge", "log", "commits"),
    [
        ("github", "https://github.com/octo-org/copies/actions/runs/1", "https://github.com/octo-org/copies/commit/"),
        ("gitlab", "https://git.example/octo-org/copies/-/jobs/1", "https://git.example/octo-org/copies/-/commit/"),
        ("forgejo", "https://ci.example.org/1", ""),
    ],
)
def test_base_and_head_are_linked_where_the_log_says_where_the_forge_is(forge: str, log: str, commits: str) -> None:
    report = made_gates.gate(SAME, forge=forge, log_url=log)
    assert build_links("", report).commits == commits


@pytest.mark.parametrize("name", REPORTS)
def test_how_to_accept_is_said_only_where_somebody_has_to(name: str) -> None:
    report, accepted, _ = REPORTS[name]
    outcome = judge_gate(report, accepted)
    offered = "/faultwatch accept" in comment_text.build_comment(outcome, LINKS, MARKER)
    assert offered is (outcome.needs_acceptance and accepted is None)
    assert "/faultwatch accept" not in comment_text.build_comment(outcome, replace(LINKS, reads_comments=False), MARKER)


def test_what_a_page_fault_is_is_linked_or_folded_where_no_service_has_an_address() -> None:
    report = made_gates.gate(OVER)
    linked = comment_text.build_comment(judge_gate(report), build_links("https://faults.example.org", report), MARKER)
    assert "[What is a page fault?](https://faults.example.org/definitions)" in linked
    assert "The program uses an address" not in linked
    folded = comment_text.build_comment(judge_gate(report), build_links("", report), MARKER)
    assert "<summary>What is a page fault?</summary>\n\nThe program uses an address" in folded
    assert "/definitions" not in folded
