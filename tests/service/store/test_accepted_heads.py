"""Who accepted a change is published once, however often the forge tells it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.contract.gate import GateReport
from service.store import accepted_heads, forge_queue
from service.store.engine.database import Database
from tests.service.forges.made_gates import BASE, HEAD, REPOSITORY

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("author", ["mara", "m" * 101])
def test_an_acceptance_that_is_told_again_is_not_published_again(database: Database, author: str) -> None:
    due = []
    for _ in range(2):
        with database.writing() as session:
            gate = forge_queue.get_or_create_gate(session, REPOSITORY, 7, HEAD)
            forge_queue.store_report(gate, GateReport(repository=REPOSITORY, base=BASE, head=HEAD), {}, NOW)
            gate.due_at = None  # as after its publication
            accepted_heads.accept_head(gate, author, "a new buffer", NOW)
            due.append(gate.due_at)
    assert due == [NOW, None]
