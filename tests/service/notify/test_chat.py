"""Messages to chat services, by real requests to servers on loopback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.config.notifications import ChatChannel
from service.notify import chat
from service.notify.mail import NotSentError
from service.notify.message import Message
from tests.service.notify.chat_servers import ChatServer, behind_proxy, serving

LINK = "http://localhost:8080/events/a_b"
HOSTILE = "[click](https://evil.example) **bold** `code` <!channel> <@123> <at>x</at> @everyone @here git@example.org"
MESSAGE = Message(
    "k" * 64, "[demo] +50 minor faults", (HOSTILE, "Next: bisect --repo https://example.org/r", LINK), frozenset({LINK})
)
SECRET = "S3cretTokenOfTheChat12345"
DISCORD, SLACK = f"{'1' * 18}/{SECRET}{'a' * 43}", f"T1JJ3T3L2/A1BRTD4JD/{SECRET[:24]}"


def channel(url: str, **more: object) -> ChatChannel:
    return ChatChannel.model_validate({"name": "chat", "kind": "chat", "url": url, **more})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    found = ChatServer()
    with serving(found):
        yield found


@pytest.mark.parametrize(
    "address",
    [
        f"mmost://127.0.0.1:PORT/{SECRET}",
        f"rocket://{SECRET}/{SECRET}@127.0.0.1:PORT/#faults",
        f"matrix://{SECRET}@127.0.0.1:PORT?mode=matrix",
        f"matrix://user:{SECRET}@127.0.0.1:PORT/#room?mode=slack",
        "ntfy://127.0.0.1:PORT/faults",
        f"gotify://127.0.0.1:PORT/{SECRET}",
    ],
)
def test_a_service_of_ones_own_gets_the_message_without_what_strangers_wrote_as_markup(
    server: ChatServer, address: str
) -> None:
    chat.send(MESSAGE, channel(address.replace("PORT", str(server.server_port))), {})
    ((_, body),) = server.requests
    assert "+50 minor faults" in body
    assert LINK in body
    assert "@everyone" not in body
    assert "@here" not in body
    assert "https://evil.example" not in body
    assert "git@example.org" in body
    assert "caronc" not in body, "no picture from elsewhere"
    if not address.startswith(("ntfy", "gotify")):
        assert "<!channel>" not in body
        assert "[click](" not in body.replace("\\\\]", "") or "matrix" in address


@pytest.mark.parametrize(
    ("address", "path", "answer"),
    [
        (f"discord://{DISCORD}?verify=no", "/api/webhooks/", b"{}"),
        (f"slack://{SLACK}?verify=no", "/services/", b"ok"),
        (f"workflows://prod.example.org/{SECRET}/{SECRET}?verify=no", "/workflows/", b"{}"),
        (f"gchat://space/{SECRET}/{SECRET}?verify=no", "/v1/spaces/", b"{}"),
        (f"tgram://123456789:{SECRET}abcdefghijk/12315544?verify=no", "/bot123456789", b'{"ok":true,"result":{}}'),
    ],
)
def test_a_public_service_gets_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, path: str, answer: bytes
) -> None:
    with behind_proxy(tmp_path) as (server, proxy):
        server.answer = answer
        for name in ("https_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        chat.send(MESSAGE, channel(address, insecure=True), {})
    ((called, body),) = server.requests
    assert called.startswith(path)
    assert "+50 minor faults" in body
    assert "events/a_b" in body
    assert "@everyone" not in body
    assert "<!channel>" not in body
    assert "https://evil.example" not in body


@pytest.mark.parametrize(("status", "said"), [(500, "500"), (404, "404"), (302, "302")])
def test_a_refusal_is_a_line_without_the_secret_and_redirects_are_not_followed(
    server: ChatServer, caplog: pytest.LogCaptureFixture, status: int, said: str
) -> None:
    server.status = status
    with caplog.at_level(logging.DEBUG), pytest.raises(NotSentError) as refused:
        chat.send(MESSAGE, channel(f"mmost://127.0.0.1:{server.server_port}/{SECRET}?redirect=yes"), {})
    assert said in str(refused.value)
    assert str(refused.value).startswith("Mattermost: ")
    assert SECRET not in str(refused.value)
    assert not any("apprise" in record.name for record in caplog.records)
    assert len(server.requests) == 1


def test_a_service_that_does_not_answer_is_a_line() -> None:
    with pytest.raises(NotSentError, match="Mattermost: .*[Cc]onnection error") as refused:
        chat.send(MESSAGE, channel(f"mmost://127.0.0.1:9/{SECRET}"), {})
    assert SECRET not in str(refused.value)


def test_a_long_message_is_sent_in_parts_of_whole_lines() -> None:
    lines = tuple(f"line {number} " + "x" * 60 for number in range(100))
    found = list(chat.parts(Message("k", "head", lines), 1000, markdown=True))
    assert len(found) > 5
    assert max(map(len, found)) <= 1000
    assert [line.strip() for part in found for line in part.split("\n")] == ["head", *lines]


@given(st.text())
def test_what_strangers_write_has_no_mark_that_is_not_escaped(text: str) -> None:
    written = chat.inert(text, markdown=True)
    assert "@everyone" not in written
    bare = written.replace("\\\\", "")
    for mark in "`*_[]<>#!|~&":
        assert bare.count(mark) == bare.count(f"\\{mark}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mmost://chat.example.org/token", "use mmosts"),
        ("discord://1/2?verify=no", "verify"),
        ("syslog://localhost", "no supported service"),
        ("dbus://", "no supported service"),
        ("http://chat.example.org/x", "no supported service"),
        ("json://chat.example.org", "no supported service"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        channel(url)


@pytest.mark.parametrize("url", ["https://chat.example.org/x", "discord://short", "https://json.example.org"])
def test_an_address_that_apprise_does_not_know_is_not_sent_to(url: str) -> None:
    with pytest.raises(NotSentError, match="url: "):
        chat.send(MESSAGE, channel(url), {})


def test_the_address_may_be_in_a_variable(server: ChatServer) -> None:
    named = ChatChannel.model_validate({"name": "chat", "kind": "chat", "url_variable": "CHAT"})
    with pytest.raises(NotSentError, match="set the environment variable CHAT"):
        chat.send(MESSAGE, named, {})
    with pytest.raises(NotSentError, match="CHAT: url is of no supported service"):
        chat.send(MESSAGE, named, {"CHAT": "file:///etc/passwd"})
    chat.send(MESSAGE, named, {"CHAT": f"mmost://127.0.0.1:{server.server_port}/{SECRET}"})
    assert len(server.requests) == 1
