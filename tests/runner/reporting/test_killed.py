"""A real process that measures and sends, killed at random moments, over and over: nothing lost, nothing twice."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.reporting.client import Service
from runner.reporting.spool import Spool
from tests.runner.http_stub import Answer, HttpStub, http_stub

ROOT = Path(__file__).parents[3]
REPORTS = 60
KILLS = 12

SENDER = """
import sys
from pathlib import Path
from tests.runner.sample_reports import report
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool

class Told(Spool):
    def add(self, one):
        super().add(one)
        print(one.run_id, flush=True)

outbox = Outbox(Told(Path(sys.argv[1])), Service(sys.argv[2]).send)
outbox.deliver()
for number in range(int(sys.argv[3]), int(sys.argv[4])):
    outbox.post(report(number))
"""


@pytest.fixture
def answering() -> Iterator[HttpStub]:
    with http_stub() as made:
        yield made


@pytest.mark.thorough
def test_every_report_arrives_whatever_is_killed(answering: HttpStub, tmp_path: Path) -> None:
    chance = random.Random(20250102)
    kept: list[str] = []
    for _ in range(KILLS):
        # A part of the answers gets lost too: the service has stored the report, and the sender does not know.
        answering.next = [Answer(503)] * chance.randrange(3)
        process = subprocess.Popen(
            [sys.executable, "-c", SENDER, str(tmp_path), answering.url, str(len(kept)), str(REPORTS * KILLS)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        told = [process.stdout.readline().strip()]
        time.sleep(chance.random() * 0.1)
        process.kill()
        told += process.stdout.read().split()
        process.stdout.close()
        process.wait()
        kept += [one for one in told if len(one) == 36 and one not in kept]
    answering.next = []
    Spool(tmp_path).flush(Service(answering.url).send)
    assert len(kept) > KILLS
    assert set(kept) <= set(answering.stored)
    assert len(set(answering.stored) - set(kept)) <= KILLS, "at most the one that was under way at each kill"
    assert not Spool(tmp_path).list_waiting_reports()
