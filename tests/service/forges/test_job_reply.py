"""What a thread on GitHub is told of a job. FAULTWATCH_GOLDEN=write writes the texts again."""

from __future__ import annotations

import os
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from runner.contract.commit_search import Culprit, Found, NothingToFind, Proof, ProofState, Search
from runner.contract.job import Backend, BisectQuestion, Job, State, Where
from service.forges.job_reply import render_reply

GOLDEN = Path(__file__).with_name("golden_replies")
HOSTILE = "</code>|`@octo-org/all` #1 [x](javascript:1) ![](http://x.example)\u202e *b* <img src=x>\n\n# h"
PROOF = Proof(state=ProofState.STANDS, sentence="In 5 of 5.", parent_run=uuid.UUID(int=1), run=uuid.UUID(int=2))
CULPRIT = Culprit(commit="c" * 40, parent="b" * 40, before=2239, after=18623, candidates=("c" * 40,), proof=PROOF)
FAILED = PROOF.model_copy(update={"state": ProofState.FAILS, "sentence": HOSTILE})


def job(answer: Any = None, state: State = State.DONE, sentence: str = "", case: str = "copy[mib=8]") -> Job:
    search = None if answer is None else Search(commits=9, stored_runs=6, answer=answer)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    none = dict.fromkeys(("github", "started_at", "finished_at", "deadline_at", "max_runs", "host", "runs_left"))
    return Job(
        id=7,
        question=BisectQuestion(subject="copyd", case=case, good="v1", bad="v2"),
        state=state,
        backend=Backend.GITHUB,
        asked_by="ada",
        asked_in=Where.COMMENT,
        thread="octo-org/copyd#17",
        created_at=now,
        changed_at=now,
        attempts=1,
        runs=(),
        seconds_left=None,
        sentence=sentence,
        log_url="",
        result=search.model_dump(mode="json") if search else None,
        steps=(),
        **none,
    )


HIDDEN = Culprit(commit=HOSTILE, parent=HOSTILE, before=1, after=2, candidates=("a", HOSTILE), proof=FAILED)
TOLD = {
    "found": job(Found(culprits=(CULPRIT, CULPRIT.model_copy(update={"proof": None, "candidates": ("a", "c")})))),
    "merge": job(Found(culprits=(CULPRIT.model_copy(update={"branch_change": -21_931}),))),
    "many": job(Found(culprits=(CULPRIT,) * 10)),
    "nothing": job(NothingToFind(sentence="The two ends of the range do not differ: good 7, bad 7.")),
    "failed": job(state=State.FAILED, sentence=f"the build is not there {HOSTILE}"),
    "hostile": job(Found(culprits=(HIDDEN,)), case=HOSTILE),
}


@pytest.mark.parametrize("name", TOLD)
def test_the_reply_is_as_it_was(name: str) -> None:
    text = render_reply(TOLD[name], "https://faults.example.org") + "\n"
    file = GOLDEN / f"{name}.md"
    if os.environ.get("FAULTWATCH_GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["failed", "hostile"])
def test_nothing_that_a_runner_tells_becomes_markup(name: str) -> None:
    shown = MarkdownIt("commonmark", {"html": True}).render(render_reply(TOLD[name], ""))
    assert not [sign for sign in ("<img", "<h1", "<em>", "<a ") if sign in shown]
    # GitHub links nobody within code.
    assert "@octo-org" not in re.sub(r"<code>.*?</code>", "", shown)
