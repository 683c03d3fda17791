"""A likely change of a noisy program is proven or refuted in the same command, by real pairs."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.campaigns.proving import MIN_PROOF_SECONDS, Prover, _choose_min_percent, compute_proof_seconds
from runner.contract.comparison import Verdict
from runner.contract.nomination import Nomination, NominationList, Power
from runner.contract.report import Case, Revision
from runner.errors import RequestRefused
from tests.runner.commands import WORKLOAD, faultwatch, git

pytestmark = pytest.mark.perf
SLOW = pytest.mark.skipif("FAULTWATCH_TEST_PROOFS" not in os.environ, reason="a minute: make test-proofs")

NOISY = """
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
int main(void) {{
    unsigned by_chance;
    if (getrandom(&by_chance, sizeof by_chance, 0) != sizeof by_chance) return 1;
    char *pages = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < {pages} + by_chance % 35; i++) pages[4096 * i] = 1;
    return {number} * 0;
}}
"""


def make_noisy_history(folder: Path, pages: Sequence[int]) -> list[str]:
    """Make a repository with a commit for each number of pages, to which the program adds 0 … 34 by chance."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    for number, count in enumerate(pages):
        (folder / "pages.c").write_text(NOISY.format(pages=count, number=number), encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"Commit {number}")
    return git(folder, "rev-list", "--reverse", "HEAD").split()


def measure_history(tmp_path: Path, url: str, *options: str, commit_range: str = "") -> tuple[dict[str, Any], str]:
    """Return the result of a history as JSON, and its messages."""
    words = ("history", "--repo", "repo", "repo/workload.toml", *filter(None, [commit_range]), "--json", *options)
    status, output, messages = faultwatch(tmp_path / "home", *words, url=url)
    assert status == 0, messages
    result: dict[str, Any] = json.loads(output)
    return result, messages


def list_faults(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [drift for drift in result["drifts"] if drift["metric"] == "minor-faults"]


def test_a_doubled_count_of_four_commits_is_proven(tmp_path: Path, service_url: str) -> None:
    commits = make_noisy_history(tmp_path / "repo", (1000, 1000, 2000, 2000))
    result, messages = measure_history(tmp_path, service_url)
    (drift,) = list_faults(result)
    assert (drift["revision"], drift["previous_revision"]) == (commits[2], commits[1])
    assert drift["certainty"] == "proven"
    assert drift["evidence"]["pairs"] >= 16
    assert not drift["evidence"]["wants_rerun"]
    assert result["proofs"]["proven"] >= 1
    assert result["proofs"]["refuted"] >= 1, "the two commits that are the same"
    assert "interleaved pairs differ" in messages


@pytest.mark.thorough
def test_without_proofs_it_is_suspected_and_a_comparison_settles_it(tmp_path: Path, service_url: str) -> None:
    commits = make_noisy_history(tmp_path / "repo", (1000, 1000, 2000, 2000))
    result, _ = measure_history(tmp_path, service_url, "--no-prove")
    (drift,) = list_faults(result)
    assert (drift["evidence"]["wants_rerun"], result["proofs"]["proven"]) == (True, 0)
    assert result["proofs"]["left_open"][0]["head"] == commits[2]
    status, output, messages = faultwatch(
        tmp_path / "home", "history", "--repo", "repo", "repo/workload.toml", "--no-prove", url=service_url
    )
    assert status == 0, messages
    assert "suspected from 2 runs before and 2 after, not interleaved" in output
    assert "No drift" not in output
    status, _, messages = faultwatch(
        tmp_path / "home",
        "compare",
        "--repo",
        "repo",
        "repo/workload.toml",
        f"{commits[1]}..{commits[2]}",
        url=service_url,
    )
    assert status == 1, messages
    (drift,) = list_faults(measure_history(tmp_path, service_url, "--no-prove")[0])
    assert (drift["certainty"], drift["revision"]) == ("proven", commits[2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([400] * 3, [420] * 3, marks=pytest.mark.thorough),
        pytest.param([400] * 6, [412] * 4, marks=SLOW),
    ],
    ids=["five percent among six commits", "two percent among ten commits"],
)
def test_a_small_change_is_proven_at_its_commit(
    before: list[int], after: list[int], tmp_path: Path, service_url: str
) -> None:
    commits = make_noisy_history(tmp_path / "repo", before + after)
    result, _ = measure_history(tmp_path, service_url, "--prove-for", "10m")
    assert [drift["revision"] for drift in list_faults(result)] == [commits[len(before)]]
    assert list_faults(result)[0]["certainty"] == "proven"


def test_the_first_commit_of_a_range_is_judged(tmp_path: Path, service_url: str) -> None:
    # A third commit would be compared with the second one, which takes 140 pairs to refute.
    commits = make_noisy_history(tmp_path / "repo", (1000, 2000))
    result, _ = measure_history(tmp_path, service_url, commit_range=f"{commits[0]}..HEAD")
    assert result["measured"] >= 2  # and reruns of what is suspected
    assert [drift["revision"] for drift in list_faults(result)] == [commits[1]]


def test_the_budget_is_what_was_asked_for_or_a_tenth_of_the_time() -> None:
    assert compute_proof_seconds(90.0, 10_000.0) == 90.0
    assert compute_proof_seconds(0.0, 10_000.0) == 0.0
    assert compute_proof_seconds(-1.0, 10.0) == MIN_PROOF_SECONDS
    assert compute_proof_seconds(-1.0, 10_000.0) == 1000.0


class Refusing:
    """Stands for the pairs and the progress: each comparison is refused, as one by a host in quarantine is."""

    def __init__(self) -> None:
        self.workload = None
        self.compared: list[tuple[str, str]] = []
        self.failed: list[str] = []

    def compare(self, _case: Case, base: Revision, head: Revision, *_: Any, **__: Any) -> None:
        self.compared.append((base.commit, head.commit))
        raise RequestRefused("the host is in quarantine")

    def on_proof_start(self, *_: Any) -> None: ...

    def on_execution(self) -> None: ...

    def on_failed_proof(self, _base: str, _head: str, reason: str) -> None:
        self.failed.append(reason)


def test_a_refused_comparison_is_said_and_keeps_no_other_one_from_being_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(workload="pages", definition="0" * 16)
    revisions = {
        name * 40: Revision(commit=name * 40, author="a", committed_at="2026-01-01T00:00:00Z", title="t")
        for name in "abc"
    }
    nominations = tuple(
        Nomination(
            case=case,
            metric="minor-faults",
            base=base * 40,
            head=head * 40,
            before=1,
            after=2,
            percent=100,
            likely=True,
        )
        for base, head in ("ab", "bc")
    )
    monkeypatch.setattr("runner.campaigns.proving.Pairs.for_proof", lambda _: None)
    refusing = Refusing()
    prover = Prover(
        pairs=refusing,
        service=refusing,
        find_revision=revisions.get,
        list_commits_between=lambda _base, _head: (),
        case_names=frozenset({case.name}),
        observer=refusing,
        deadline=time.monotonic() + 60,
    )
    summary = prover.prove(lambda: NominationList(items=nominations, powers=()))
    assert refusing.compared == [("a" * 40, "b" * 40), ("b" * 40, "c" * 40)]
    assert refusing.failed == ["the host is in quarantine"] * 2
    assert (summary.n_proven, summary.n_refuted, summary.n_undecided) == (0, 0, 0)


def nominate(percent: float | None, *, likely: bool) -> Nomination:
    case = Case(workload="pages", definition="0" * 16)
    ends = {"base": "a" * 40, "head": "b" * 40}
    return Nomination(case=case, metric="minor-faults", **ends, before=1, after=2, percent=percent, likely=likely)


def test_the_smallest_change_worth_proving_follows_from_what_is_nominated() -> None:
    assert _choose_min_percent(nominate(20, likely=True)) == 10
    assert _choose_min_percent(nominate(-0.5, likely=True)) == 0.25
    assert _choose_min_percent(nominate(300, likely=True)) == 100
    assert _choose_min_percent(nominate(None, likely=True)) is None
    assert _choose_min_percent(nominate(20, likely=False)) == 1, "half of the rise that a statement is about"


class Deciding(Refusing):
    """Stands for the pairs and the service: four commits of which the second half has another level."""

    def __init__(self, levels: dict[str, int]) -> None:
        super().__init__()
        self.levels = levels
        self.looked_for: list[float | None] = []
        self.workload = SimpleNamespace(metrics=SimpleNamespace(judging=None))

    def compare(self, _case: Case, base: Revision, head: Revision, decide: Any, **__: Any) -> Any:
        self.compared.append((base.commit, head.commit))
        before, after = self.levels[base.commit], self.levels[head.commit]
        request = SimpleNamespace(model_copy=lambda update: SimpleNamespace(before=before, after=after, **update))
        head_side = SimpleNamespace(samples=[1] * 20)
        return SimpleNamespace(
            comparison=decide(request) if decide else None, head=head_side, build_request=lambda _: request
        )

    def prove(self, request: Any) -> Any:
        self.looked_for.append(request.worth_proving)
        change = request.after - request.before
        verdict = Verdict.CHANGED if change else Verdict.SAME
        metric = SimpleNamespace(
            metric="minor-faults", verdict=verdict, change=change, percent=100 * change / request.before
        )
        return SimpleNamespace(verdict=verdict, metrics=(metric,))

    def on_execution(self) -> None: ...

    def on_proof(self, *_: Any) -> None: ...


def test_the_halves_of_a_range_are_refuted_by_what_is_left_of_its_change(monkeypatch: pytest.MonkeyPatch) -> None:
    revisions = {
        name * 40: Revision(commit=name * 40, author="a", committed_at="2026-01-01T00:00:00Z", title="t")
        for name in "abcd"
    }
    monkeypatch.setattr("runner.campaigns.proving.Pairs.for_proof", lambda _: None)
    deciding = Deciding({"a" * 40: 1000, "b" * 40: 1000, "c" * 40: 1000, "d" * 40: 1020})
    deciding.service = SimpleNamespace(compare=lambda request: request, prove=deciding.prove)  # type: ignore[attr-defined]
    prover = Prover(
        pairs=deciding,
        service=deciding.service,  # type: ignore[attr-defined]
        find_revision=revisions.get,
        list_commits_between=lambda base, head: [name * 40 for name in "abcd" if base < name * 40 < head],
        case_names=frozenset({"pages"}),
        observer=deciding,
        deadline=time.monotonic() + 60,
    )
    whole = nominate(2, likely=True).model_copy(update={"head": "d" * 40})
    prover.prove(lambda: NominationList(items=(whole,), powers=()))
    assert [base[0] + head[0] for base, head in deciding.compared] == ["ad", "ac", "cd"]
    assert deciding.looked_for == [1, 0.5, 0.5]


def test_only_the_commits_within_a_proven_range_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    revisions = {
        name * 40: Revision(commit=name * 40, author="a", committed_at="2026-01-01T00:00:00Z", title="t")
        for name in "abcd"
    }
    monkeypatch.setattr("runner.campaigns.proving.Pairs.for_proof", lambda _: None)
    deciding = Deciding({"a" * 40: 1000, "b" * 40: 1000, "c" * 40: 1020, "d" * 40: 1020})
    deciding.service = SimpleNamespace(compare=lambda request: request, prove=deciding.prove)  # type: ignore[attr-defined]
    prover = Prover(
        pairs=deciding,
        service=deciding.service,  # type: ignore[attr-defined]
        find_revision=revisions.get,
        list_commits_between=lambda base, head: [name * 40 for name in "abcd" if base < name * 40 < head],
        case_names=frozenset({"pages"}),
        observer=deciding,
        deadline=time.monotonic() + 60,
    )
    proven_range = {"head": "d" * 40, "before": 1000, "after": 1020, "proven": True}
    whole = nominate(2, likely=True).model_copy(update=proven_range)
    summary = prover.prove(lambda: NominationList(items=(whole,), powers=()))
    assert [base[0] + head[0] for base, head in deciding.compared] == ["ac", "ab", "bc"]
    assert summary.open_nominations == []


@pytest.mark.parametrize(("left", "at_least_one", "compared"), [(30, False, 0), (30, True, 2), (40, False, 2)])
def test_no_comparison_begins_that_does_not_fit_into_the_time(
    left: int, at_least_one: bool, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    revisions = {
        name * 40: Revision(commit=name * 40, author="a", committed_at="2026-01-01T00:00:00Z", title="t")
        for name in "abc"
    }
    monkeypatch.setattr("runner.campaigns.proving.Pairs.for_proof", lambda _: None)
    refusing = Refusing()
    prover = Prover(
        pairs=refusing,
        service=refusing,
        find_revision=revisions.get,
        list_commits_between=lambda _base, _head: (),
        case_names=frozenset({"pages"}),
        observer=refusing,
        deadline=time.monotonic() + left,
        at_least_one=at_least_one,
    )
    nominations = [nominate(20, likely=True), nominate(20, likely=True).model_copy(update={"head": "c" * 40})]
    # A pair takes two seconds, so the first eighteen and the executions before them take 38.
    power = Power(case=nominations[0].case, metric="minor-faults", percent=2, pairs=50, seconds=100, sentence="")
    summary = prover.prove(lambda: NominationList(items=tuple(nominations), powers=(power,)))
    assert len(refusing.compared) == compared, "one that is refused takes no time, and a default time is extended"
    assert len(summary.open_nominations) == 2 - compared
