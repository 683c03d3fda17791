"""What a bisect changes about an event."""

from __future__ import annotations

import uuid
from typing import Any

from runner.contract.commit_search import Culprit, Proof, ProofState
from service.rules.events.narrowing import BisectResult, narrow_event

COMMITS = [f"{number:040x}" for number in range(5)]
DOCUMENT: dict[str, Any] = {
    "blamed": "one of 5 commits",
    "candidates": [{"commit": commit, "title": f"title {commit[-1]}", "author": "ann"} for commit in COMMITS],
}


def culprit(*candidates: str, state: ProofState | None = ProofState.STANDS) -> Culprit:
    proof = Proof(state=state, sentence="", parent_run=uuid.uuid4(), run=uuid.uuid4()) if state else None
    return Culprit(commit=candidates[-1], parent="p", before=1, after=2, candidates=candidates, proof=proof)


def narrowed(*culprits: Culprit) -> dict[str, Any]:
    return narrow_event(DOCUMENT, BisectResult(7, culprits))


def test_a_proven_culprit_gives_the_event_its_title() -> None:
    found = narrowed(culprit(COMMITS[2]))
    assert (found["blamed"], found["bisect"]) == ("title 2", 7)
    assert found["culprits"] == [DOCUMENT["candidates"][2]]


def test_culprits_that_cannot_be_told_apart_narrow_it_without_a_name() -> None:
    assert narrowed(culprit(*COMMITS[1:3]))["blamed"].startswith("one of 2 commits")


def test_several_culprits_are_all_named() -> None:
    found = narrowed(culprit(COMMITS[1]), culprit(COMMITS[3]))
    assert found["blamed"] == f"2 commits: {COMMITS[1][:10]}, {COMMITS[3][:10]}"


def test_a_bisect_that_found_only_builds_to_differ_is_noted() -> None:
    assert narrow_event(DOCUMENT, BisectResult(7, (), only_builds=True)) == DOCUMENT | {"only_builds": 7}


def test_without_a_proof_or_with_a_foreign_commit_nothing_is_named() -> None:
    for other in (
        culprit(COMMITS[1], state=None),
        culprit(COMMITS[1], state=ProofState.FAILS),
        culprit(COMMITS[1], state=ProofState.OPEN),
        culprit("f" * 40),
    ):
        assert narrowed(other) == DOCUMENT
        assert narrowed(culprit(COMMITS[2]), other) == DOCUMENT
    assert narrowed() == narrow_event(DOCUMENT, None) == DOCUMENT
