"""Rounds of telling, to a real mail server and a real web server."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from click.testing import CliRunner

from runner.contract.judging import Judging
from service.__main__ import cli
from service.config.notifications import NotificationSettings
from service.config.settings import Config
from service.notify import mail, notification_round
from service.notify.notification_round import RoundResult
from service.rules.delivery_schedule import LEASE
from service.store.engine.database import Database
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.notify.chat_servers import ChatServer, serving

OTHERS = [reports.OTHER_CASE.model_copy(update={"parameters": {"mib": n}}) for n in range(20, 27)]


class Mailbox:
    """Takes mail, or refuses it."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        self.refusal: str | None = None
        self.unknown = ""

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:  # noqa: N802
        if address == self.unknown:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 known"

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802
        if self.refusal is None:
            self.mails.append(message_from_bytes(envelope.content))
        return self.refusal or "250 taken"


class MailServer(Controller):
    """Listens at a port that is free."""

    def _trigger_server(self) -> None:
        assert self.server is not None
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class Receiver(ThreadingHTTPServer):
    """Takes what is posted, and answers as it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.posts: list[tuple[str, str, dict[str, str]]] = []
        self.status = 200
        self.called, self.answers = Event(), Event()
        self.answers.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posts.append((self.path, self.headers["Idempotency-Key"], body))
        self.server.called.set()
        self.server.answers.wait(60)
        self.send_response(self.server.status)
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        with contextlib.suppress(ConnectionError):
            self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def mailbox() -> Iterator[tuple[Mailbox, int]]:
    box = Mailbox()
    controller = MailServer(box, hostname="127.0.0.1", port=0, ready_timeout=30)
    controller.start()
    yield box, controller.port
    controller.stop()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as server:
        yield server


@contextlib.contextmanager
def listening() -> Iterator[Receiver]:
    server = Receiver()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def by_mail(port: int, **told: Any) -> NotificationSettings:
    channel = {
        "name": "team",
        "kind": "email",
        "sender": "faultwatch@example.org",
        "to": ["perf@example.org"],
        "host": "127.0.0.1",
        "port": port,
        "security": "none",
    }
    return NotificationSettings.model_validate({"channel": [channel | told]})


def by_webhook(receiver: Receiver, **told: Any) -> NotificationSettings:
    return NotificationSettings.model_validate(
        {"channel": [{"name": "chat", "kind": "webhook", "url": receiver.url} | told]}
    )


def go(database: Database, settings: NotificationSettings, later: timedelta = timedelta(0)) -> RoundResult:
    return notification_round.run_round(database, settings, {}, datetime.now(UTC) + later)


def regress(api: Api, case: Any = reports.CASE) -> None:
    api.send(*reports.proven(100, 150, case=case))


def event(api: Api) -> str:
    return str(api.get("/events")["items"][0]["id"])


def decide(api: Api, action: str, **told: str) -> None:
    answer = api.client.post(f"/api/v1/events/{event(api)}/decisions", json={"action": action, "author": "Ada"} | told)
    assert answer.status_code == 201


def test_each_event_is_mailed_once(api: Api, database: Database, mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    settings = by_mail(port)
    go(database, settings)
    regress(api)
    assert (go(database, settings).n_sent, go(database, settings).n_sent) == (1, 0)
    (mail,) = box.mails
    assert mail["Subject"] == "[demo] +50 minor faults (+50 %) in copy[mib=4]"
    assert mail["To"] == "perf@example.org"
    assert "/events/" + event(api) in str(mail.get_payload())


def test_what_was_known_before_a_channel_is_not_told_there(api: Api, database: Database, receiver: Receiver) -> None:
    regress(api)
    assert go(database, by_webhook(receiver)).n_sent == 0


def test_a_receiver_that_is_down_gets_it_later_and_a_second_copy_has_the_same_key(
    api: Api, database: Database, receiver: Receiver
) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    regress(api)
    receiver.status = 503
    assert go(database, settings).failures == ["chat: the receiver answered 503"]
    (waiting,) = api.get(f"/events/{event(api)}/deliveries")["items"]
    assert (waiting["sent_at"], waiting["error"]) == (None, "the receiver answered 503")
    assert go(database, settings).failures == []
    receiver.status = 200
    assert go(database, settings).n_sent == 0
    assert go(database, settings, timedelta(minutes=2)).n_sent == 1
    assert go(database, settings, timedelta(days=1)).n_sent == 0
    assert len(receiver.posts) == 2
    assert len({key for _, key, _ in receiver.posts}) == 1
    (told,) = api.get(f"/events/{event(api)}/deliveries")["items"]
    assert {name: told[name] for name in ("channel", "occasion", "attempts", "next_at", "error")} == {
        "channel": "chat",
        "occasion": "new",
        "attempts": 2,
        "next_at": None,
        "error": None,
    }
    assert told["sent_at"] is not None


def test_a_chat_that_is_down_gets_it_later(api: Api, database: Database) -> None:
    with serving(ChatServer()) as server:
        url = f"mmost://127.0.0.1:{server.server_port}/s3cretToken"
        settings = NotificationSettings.model_validate({"channel": [{"name": "chat", "kind": "chat", "url": url}]})
        go(database, settings)
        regress(api)
        server.status = 503
        (reason,) = go(database, settings).failures
        assert reason.startswith("chat: Mattermost: ")
        assert "503" in reason
        (waiting,) = api.get(f"/events/{event(api)}/deliveries")["items"]
        assert (waiting["sent_at"], f"chat: {waiting['error']}") == (None, reason)
        server.status = 200
        assert go(database, settings).n_sent == 0
        assert go(database, settings, timedelta(minutes=2)).n_sent == 1
        assert go(database, settings, timedelta(days=1)).n_sent == 0
        assert len(server.requests) == 2


def test_a_process_that_was_killed_while_it_sent_leaves_the_message_to_the_next(
    api: Api, config: Config, database: Database, receiver: Receiver
) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    regress(api)
    receiver.answers.clear()
    text = f'[[channel]]\nname = "chat"\nkind = "webhook"\nurl = "{receiver.url}"\n'
    Path(config.home, "notifications.toml").write_text(text)
    environment = os.environ | {"FAULTWATCH_HOME": str(config.home), "DATABASE_URL": config.database_url}
    with subprocess.Popen([sys.executable, "-m", "service", "notify"], env=environment) as sending:
        assert receiver.called.wait(60)
        sending.kill()
    receiver.answers.set()
    assert go(database, settings).n_sent == 0
    assert go(database, settings, LEASE + timedelta(minutes=1)).n_sent == 1
    assert go(database, settings, timedelta(days=1)).n_sent == 0
    assert len(receiver.posts) == 2
    assert len({key for _, key, _ in receiver.posts}) == 1


def test_mail_that_is_refused_is_tried_again(api: Api, database: Database, mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    settings = by_mail(port)
    go(database, settings)
    regress(api)
    box.refusal = "451 later"
    (reason,) = go(database, settings).failures
    assert "451" in reason
    box.refusal = None
    assert go(database, settings, timedelta(minutes=2)).n_sent == 1


def test_the_log_names_the_receivers_that_a_mail_server_refuses(
    api: Api, database: Database, mailbox: tuple[Mailbox, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    # Not caplog: other tests of this process may have changed what loggers pass on.
    monkeypatch.setattr(mail.log, "warning", lambda text, *values: lines.append(text % values))
    box, port = mailbox
    settings = by_mail(port, to=["perf@example.org", "gone@example.org"])
    go(database, settings)
    regress(api)
    box.unknown = "gone@example.org"
    assert go(database, settings).n_sent == 1, "the others must not get it a second time"
    (line,) = lines
    assert "gone@example.org (550 no such user)" in line
    assert [message["To"] for message in box.mails] == ["perf@example.org, gone@example.org"]


def test_a_mail_server_whose_name_is_no_host_name_is_not_blamed_on_the_password(
    api: Api, database: Database, receiver: Receiver
) -> None:
    (channel,) = by_mail(25).channel
    settings = NotificationSettings(channel=(channel.model_copy(update={"host": "mail..example"}),))
    go(database, settings)
    regress(api)
    (reason,) = go(database, settings).failures
    assert "'mail..example' is not a valid host name" in reason


def test_a_password_that_cannot_be_sent_stops_no_other_channel(
    api: Api, database: Database, receiver: Receiver
) -> None:
    server = MailServer(
        Mailbox(), hostname="127.0.0.1", port=0, ready_timeout=30, auth_require_tls=False, authenticator=lambda *_: None
    )
    server.start()
    mailing = by_mail(server.port, user="ann", password_variable="WORD")
    settings = NotificationSettings(channel=(*mailing.channel, *by_webhook(receiver).channel))
    go(database, settings)
    regress(api)
    result = notification_round.run_round(database, settings, {"WORD": "p\xe4ssword"}, datetime.now(UTC))
    server.stop()
    (reason,) = result.failures
    assert "non-ASCII" in reason
    assert "\xe4" not in reason
    assert len(receiver.posts) == 1


def test_a_webhook_whose_host_name_is_wrong_stops_no_other_channel(
    api: Api, database: Database, receiver: Receiver
) -> None:
    wrong = by_webhook(receiver, name="wrong", url="https://hooks..example/secret").channel
    settings = NotificationSettings(channel=(*wrong, *by_webhook(receiver).channel))
    go(database, settings)
    regress(api)
    (reason,) = go(database, settings).failures
    assert reason.startswith("wrong: ")
    assert "secret" not in reason
    assert len(receiver.posts) == 1


def test_redirects_are_not_followed(api: Api, database: Database, receiver: Receiver) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    regress(api)
    receiver.status = 302
    (reason,) = go(database, settings).failures
    assert "redirects are not followed" in reason
    assert [path for path, _, _ in receiver.posts] == ["/hook"]


def test_what_is_silenced_or_decided_is_not_told_and_what_comes_back_is(
    api: Api, database: Database, receiver: Receiver
) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    regress(api)
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    asked = {"case": "copy*", "until": until, "author": "Ada", "reason": "known"}
    silence = api.client.post("/api/v1/silences", json=asked).json["id"]
    assert go(database, settings).n_sent == 0
    api.client.delete(f"/api/v1/silences/{silence}?author=Ada")
    decide(api, "dismiss", reason="the host was busy")
    assert go(database, settings).n_sent == 0
    decide(api, "reopen", reason="it was not")
    assert (go(database, settings).n_sent, go(database, settings).n_sent) == (1, 0)
    assert "again: " in receiver.posts[0][2]["text"]


def test_a_blip_is_not_told_before_a_rerun_confirms_it(api: Api, database: Database, receiver: Receiver) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    api.send(*[reports.report(number, level) for number, level in enumerate([100] * 12 + [150], start=1)])
    unsure = [drift for drift in api.drifts() if drift["evidence"]["wants_rerun"]]
    assert go(database, settings).n_sent == (0 if unsure else 1)
    api.send(reports.report(13, 150, at=20), reports.report(13, 150, at=21))
    go(database, settings)
    assert len(receiver.posts) == 1


@pytest.mark.parametrize(
    ("only", "budget", "posts"), [("regressions", "60 %", 0), ("regressions", 0, 1), ("all", "60 %", 1)]
)
def test_a_regression_within_its_budget_is_for_channels_that_take_all(
    api: Api, database: Database, receiver: Receiver, only: str, budget: Any, posts: int
) -> None:
    settings = by_webhook(receiver, only=only)
    go(database, settings)
    judging = Judging(budgets={"minor-faults": budget})
    api.send(*reports.proven(100, 150, judging=judging))
    go(database, settings)
    assert len(receiver.posts) == posts


def test_many_at_once_are_one_message(api: Api, database: Database, receiver: Receiver) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    for first, case in enumerate(OTHERS):
        api.send(*reports.proven(*[100] * (2 + first), 150, case=case))
    assert len(api.get("/events")["items"]) == len(OTHERS)
    assert go(database, settings).n_sent == 1
    assert f"{len(OTHERS)} events" in receiver.posts[0][2]["text"]


def test_many_at_once_that_wait_are_counted_as_one_message(api: Api, database: Database, receiver: Receiver) -> None:
    settings = by_webhook(receiver)
    go(database, settings)
    for first, case in enumerate(OTHERS):
        api.send(*reports.proven(*[100] * (2 + first), 150, case=case))
    receiver.status = 500
    go(database, settings)
    assert 'faultwatch_notifications_waiting{to="channels"} 1.0' in api.client.get("/metrics").text


def test_a_digest_waits_for_its_time(api: Api, database: Database, receiver: Receiver) -> None:
    settings = by_webhook(receiver, digest="08:00")
    go(database, settings)
    regress(api)
    assert go(database, settings).n_sent == 0
    assert go(database, settings, timedelta(days=1)).n_sent == 1
    assert go(database, settings, timedelta(days=2)).n_sent == 0


def test_the_command_does_one_round(api: Api, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as receiver:
        text = '[[channel]]\nname = "chat"\nkind = "webhook"\nurl_variable = "HOOK"\n'
        Path(config.home, "notifications.toml").write_text(text)
        monkeypatch.setenv("FAULTWATCH_HOME", str(config.home))
        monkeypatch.setenv("DATABASE_URL", config.database_url)
        monkeypatch.setenv("HOOK", receiver.url)
        assert CliRunner().invoke(cli, ["notify"]).output == "0 messages sent; 0 of 1 channels failed\n"
        regress(api)
        assert CliRunner().invoke(cli, ["notify"]).output.startswith("1 message sent")
        monkeypatch.delenv("HOOK")
        regress(api, reports.OTHER_CASE)
        assert CliRunner().invoke(cli, ["notify"]).exit_code == 0
    assert len(receiver.posts) == 1


def test_the_feed_is_served_with_a_tag(api: Api) -> None:
    regress(api)
    answer = api.client.get("/feeds/events.atom")
    assert (answer.status_code, answer.mimetype) == (200, "application/atom+xml")
    assert f"http://localhost/events/{event(api)}" in answer.text
    again = api.client.get("/feeds/events.atom", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert "<entry>" not in api.client.get("/feeds/events.atom?subject=nobody").text
