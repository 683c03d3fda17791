from itertools import pairwise
from pathlib import Path

import pytest

from runner.contract.report import Report
from runner.errors import FaultwatchError, RequestRefused, ServiceUnavailable
from runner.reporting.outbox import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, Outbox
from runner.reporting.spool import Spool, SpooledDocument
from runner.system.processes import read_own_name
from tests.runner.sample_reports import profile, report


class Service:
    def __init__(self) -> None:
        self.away = False
        self.asked = 0
        self.stored: list[Report] = []

    def send(self, one: Report) -> None:
        self.asked += 1
        if self.away:
            raise FaultwatchError("away")
        self.stored.append(one)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_measuring_goes_on_while_the_service_is_away_and_everything_arrives_in_the_end(tmp_path: Path) -> None:
    service, clock, spool = Service(), Clock(), Spool(tmp_path)
    outbox = Outbox(spool, service.send, clock)
    reports = [report() for _ in range(200)]
    service.away = True
    for one in reports:
        clock.now += 600.0 / 7  # a day has about a thousand of these
        outbox.post(one)
    assert str(outbox.error) == "away"
    assert len(spool.list_waiting_reports()) == len(reports)
    assert service.asked < len(reports), "a service that is away is left alone for a while"
    service.away = False
    outbox.deliver(at_once=True)
    assert service.stored == reports
    assert outbox.error is None


def test_pauses_grow_up_to_a_bound(tmp_path: Path) -> None:
    service, clock = Service(), Clock()
    service.away = True
    outbox = Outbox(Spool(tmp_path), service.send, clock)
    outbox.post(report())
    asked_at = [0.0]
    while len(asked_at) < 9:
        clock.now += 1
        before = service.asked
        outbox.deliver()
        if service.asked > before:
            asked_at.append(clock.now)
    pauses = [after - before for before, after in pairwise(asked_at)]
    assert pauses[:3] == [FIRST_PAUSE_SECONDS, 2 * FIRST_PAUSE_SECONDS, 4 * FIRST_PAUSE_SECONDS]
    assert max(pauses) == MAX_PAUSE_SECONDS


def test_what_cannot_be_stored_of_a_pair_is_sent_at_once(tmp_path: Path) -> None:
    spool, (base, head), sent = Spool(tmp_path), (report(1), report(2)), []
    spool.get_file(base).with_suffix(f".{read_own_name()}.partial").mkdir()  # its file cannot be written

    def send(one: Report) -> None:
        sent.append(one)
        if one == head:
            raise ServiceUnavailable("the service is down")

    Outbox(spool, send).post(base, head)
    assert sent[0] == base
    assert spool.get_file(head).is_file(), "there was room for it"


def test_an_older_report_that_is_refused_is_none_of_the_refused_reports_of_a_command(tmp_path: Path) -> None:
    spool, (older, own) = Spool(tmp_path), (report(), report())
    spool.add(older)
    reasons = {older.run_id: "its subject was deleted", own.run_id: "it is too large"}

    def refuse(one: Report) -> None:
        raise RequestRefused(reasons[one.run_id])

    outbox = Outbox(spool, refuse)
    outbox.deliver()
    assert (outbox.refusals, len(outbox.refused)) == ([], 1)
    outbox.post(own)
    assert outbox.refusals == ["it is too large"]


def test_a_refusal_of_a_report_or_a_profile_says_that_it_is_set_aside(tmp_path: Path) -> None:
    def refuse(_: SpooledDocument) -> None:
        raise RequestRefused("it is too large")

    own = report()
    outbox = Outbox(Spool(tmp_path), refuse)
    for document in (own, profile()):
        with pytest.raises(FaultwatchError) as caught:
            outbox.post_now(document)
        assert caught.value.what == f"{document.revision.commit[:10]}: it is too large"
        assert caught.value.remedy == "what was refused is set aside; see `faultwatch spool`"


def test_without_room_on_disk_a_report_is_sent_straight_away(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file stands in the way")
    service = Service()
    one = report()
    outbox = Outbox(Spool(tmp_path / "spool"), service.send)
    outbox.post(one)
    assert service.stored == [one]
    service.away = True
    with pytest.raises(FaultwatchError, match="cannot be stored"):
        outbox.post(report())
