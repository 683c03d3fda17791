"""What is worth a comparison, and what a comparison can find."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event, select

from runner.contract import Case, ComparisonRequest
from runner.contract.judging import Judging
from service.store.engine.database import Database
from service.store.models import ProofRow
from tests.service import reports
from tests.service.apiclient import Api


@contextmanager
def list_statements() -> Iterator[list[str]]:
    """List the statements that databases are given."""
    statements: list[str] = []

    def record(*arguments: Any) -> None:
        statements.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", record)


def measure(api: Api, cases: range) -> None:
    """Measure three commits with each of some cases, whose counts vary; a run of case n takes n seconds."""
    chance = random.Random(1)
    for number in cases:
        case = Case(workload=f"w{number}", definition="0" * 16)
        runs = [
            reports.report(
                commit, *(chance.randrange(1000, 1020) for _ in range(10)), case=case, others={"elapsed": float(number)}
            )
            for commit in (1, 2, 3)
        ]
        api.send(*runs)


def test_the_powers_of_all_cases_are_read_at_once(api: Api) -> None:
    measure(api, range(1, 3))
    api.get("/nominations", subject="demo", host="box")
    with list_statements() as of_two:
        api.get("/nominations", subject="demo", host="box")
    measure(api, range(3, 12))
    api.get("/nominations", subject="demo", host="box")
    with list_statements() as of_eleven:
        powers = api.get("/nominations", subject="demo", host="box")["powers"]
    assert 0 < len(of_eleven) == len(of_two)
    durations = {power["case"]["workload"]: power["seconds"] / power["pairs"] / 2 for power in powers}
    assert durations == {f"w{number}": number for number in range(1, 12)}


def test_a_proof_keeps_which_change_its_pairs_exclude(api: Api, database: Database) -> None:
    chance = random.Random(2)
    session = uuid.uuid4()
    sides = [
        reports.report(commit, *(chance.randrange(995, 1006) for _ in range(24)), session=session) for commit in (1, 2)
    ]
    request = ComparisonRequest(base=sides[0], head=sides[1], worth_proving=10)
    for worth, verdict in ((None, "needs_more_runs"), (10, "same")):
        document = request.model_copy(update={"worth_proving": worth}).model_dump(mode="json")
        answer = api.client.post("/api/v1/proofs", json=document)
        assert (answer.status_code, answer.json["verdict"]) == (200, verdict)
    with database.reading() as reading:
        (excluded,) = reading.scalars(select(ProofRow.excluded))
    assert 99 <= excluded <= 101
    repeated = [reports.report(commit, *([1000] * 24), session=session) for commit in (1, 2)]
    document = ComparisonRequest(base=repeated[0], head=repeated[1], worth_proving=10).model_dump(mode="json")
    assert api.client.post("/api/v1/proofs", json=document).json["verdict"] == "same"
    with database.reading() as reading:
        assert list(reading.scalars(select(ProofRow.excluded))) == [None], "counts that repeat exclude every change"


def list_likely(api: Api, *counts: int) -> list[tuple[int, int]]:
    """Measure a commit for each count, which both of its samples have; return the likely changes."""
    api.send(*(reports.report(number, count, count) for number, count in enumerate(counts, 1)))
    items = api.get("/nominations", subject="demo", host="box")["items"]
    return sorted(
        (item["before"], item["after"]) for item in items if item["likely"] and item["metric"] == "minor-faults"
    )


def test_each_commit_of_a_staircase_of_exact_counts_is_likely_to_have_moved_them(api: Api) -> None:
    assert list_likely(api, 563, 819, 1075, 1331) == [(563, 819), (819, 1075), (1075, 1331)]


def test_a_count_that_returns_is_an_outlier_and_no_likely_change(api: Api) -> None:
    assert list_likely(api, 563, 564, 563, 565, 563) == []


def compare_in_pairs(api: Api, base: int, head: int, *levels: int, **changes: Any) -> str:
    """Send the proof from 24 pairs of two commits with these levels; return the verdict."""
    session = uuid.uuid4()
    sides = [
        reports.report(number, *([level] * 24), session=session, **changes)
        for number, level in zip((base, head), levels, strict=True)
    ]
    document = ComparisonRequest(base=sides[0], head=sides[1]).model_dump(mode="json")
    return str(api.client.post("/api/v1/proofs", json=document).json["verdict"])


def list_nominated(api: Api) -> set[tuple[int, int]]:
    """Return the numbers of the commits of each nomination."""
    items = api.get("/nominations", subject="demo", host="box")["items"]
    return {(int(item["base"], 16), int(item["head"], 16)) for item in items}


def test_a_step_before_a_proven_change_remains_worth_a_proof(api: Api) -> None:
    api.send(*(reports.report(number, count, count) for number, count in enumerate((148, 147, 147, 148), 1)))
    assert list_nominated(api) >= {(1, 2), (3, 4)}
    assert compare_in_pairs(api, 3, 4, 147, 148) == "changed"
    assert (1, 2) in list_nominated(api)
    assert compare_in_pairs(api, 1, 2, 148, 147) == "changed"
    assert list_nominated(api) == set()


def test_a_step_is_compared_once_also_if_the_environment_has_changed_since(api: Api) -> None:
    counts = list(enumerate((148, 147, 147, 148), 1))
    api.send(*(reports.report(number, count, count) for number, count in counts))
    api.send(*(reports.report(number, count, count, environment=reports.JEMALLOC, at=9) for number, count in counts))
    for base, head in ((1, 2), (3, 4)):
        assert (base, head) in list_nominated(api)
        levels = counts[base - 1][1], counts[head - 1][1]
        assert compare_in_pairs(api, base, head, *levels, environment=reports.JEMALLOC) == "changed"
    assert list_nominated(api).isdisjoint({(1, 2), (3, 4)})
    assert [drift["certainty"] for drift in api.drifts()] == ["proven", "proven"]


def test_a_change_of_a_noisy_count_that_is_taken_back_is_worth_proofs(api: Api) -> None:
    chance = random.Random(4)
    for number, level in enumerate((1000, 1000, 1024, 1000, 1000), 1):
        api.send(reports.report(number, *(level + chance.randrange(-2, 3) for _ in range(10))))
    assert list_nominated(api) >= {(2, 3), (3, 4)}
    assert compare_in_pairs(api, 1, 5, 1000, 1000) == "same"
    assert list_nominated(api) >= {(2, 3), (3, 4)}, "pairs of the ends do not show what is taken back between them"


def test_a_step_of_a_noisy_count_that_is_certain_by_its_runs_is_worth_a_proof(api: Api) -> None:
    chance = random.Random(3)
    levels = [1000] * 12 + [1500] * 12
    api.send(
        *(
            reports.report(number, *(level + chance.randrange(20) for _ in range(4)))
            for number, level in enumerate(levels, 1)
        )
    )
    (drift,) = api.get("/drifts", metric="minor-faults")["items"]
    assert drift["evidence"]["standing"] == "certain"
    items = api.get("/nominations", subject="demo", host="box")["items"]
    assert (drift["previous_revision"], drift["revision"]) in {(item["base"], item["head"]) for item in items}
    assert not any(item["likely"] for item in items)


def test_pairs_that_show_a_small_change_of_a_time_do_not_refute_it(api: Api) -> None:
    chance, judging = random.Random(3), Judging(judge=("elapsed",))

    def take_time(number: int) -> dict[str, float]:
        return {"elapsed": (1.0 if number <= 30 else 1.005) + chance.gauss(0, 0.0005)}

    api.send(*(reports.report(number, 100, others=take_time(number), judging=judging) for number in range(1, 61)))
    session = uuid.uuid4()
    base, head = (
        reports.report(
            number, samples=tuple(reports.sample(100, take_time(number)) for _ in range(80)), session=session
        )
        for number in (30, 31)
    )
    request = ComparisonRequest(base=base, head=head, precision={"elapsed": 2.0})
    answer = api.client.post("/api/v1/proofs", json=request.model_dump(mode="json"))
    (verdict,) = [entry for entry in answer.json["metrics"] if entry["metric"] == "elapsed"]
    assert (verdict["verdict"], verdict["bounds"][0] > 0) == ("same", True)
    (drift,) = api.drifts()
    assert (drift["cause"], drift["revision"]) == ("commit", reports.commit(31))
    assert "do not show the change" not in drift["evidence"]["sentence"]


def test_a_range_that_pairs_have_proven_needs_only_its_commits_compared(api: Api) -> None:
    chance = random.Random(5)
    for number, level in ((1, 1000), (3, 2000)):
        api.send(reports.report(number, *(level + chance.randrange(-2, 3) for _ in range(10))))
    api.send(reports.failed_build(2))

    def find_nomination() -> dict[str, Any]:
        items = api.get("/nominations", subject="demo", host="box")["items"]
        ends = reports.commit(1), reports.commit(3)
        (item,) = [item for item in items if (item["base"], item["head"]) == ends and item["metric"] == "minor-faults"]
        return dict(item)

    assert not find_nomination()["proven"]
    assert compare_in_pairs(api, 1, 3, 1000, 2000) == "changed"
    assert len(api.drifts()[0]["candidates"]) == 2
    assert find_nomination()["proven"]
