"""Messages to chat services, by real requests to servers on loopback."""

from __future__ import annotations

import contextlib
import html
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.config.notifications import CHATS, ChatChannel
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
TEAMS = (
    "default0a1b2c.6f.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/"
    f"{SECRET}/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig={SECRET}"
)
DISCORD, SLACK = f"{'1' * 18}/{SECRET}{'a' * 43}", f"T1JJ3T3L2/A1BRTD4JD/{SECRET[:24]}"


def channel(url: str, **more: object) -> ChatChannel:
    return ChatChannel.model_validate({"name": "chat", "kind": "chat", "url": url, **more})


@contextlib.contextmanager
def all_records() -> Iterator[list[logging.LogRecord]]:
    """Collect what reaches the root logger at any level. (caplog also reads loggers that do not propagate.)"""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield records
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def use(patch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("https_proxy", "HTTPS_PROXY"):
        patch.setenv(name, proxy)
    for name in ("no_proxy", "NO_PROXY"):
        patch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(ChatServer()) as found:
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
    # The address of Rocket.Chat has a secret in place of the host, so nobody sees that it is on loopback.
    insecure = address.startswith("rocket")
    chat.send_message_to_chat(MESSAGE, channel(address.replace("PORT", str(server.server_port)), insecure=insecure), {})
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
        assert "[click](" not in body or "matrix" in address


def test_a_matrix_room_gets_it_as_html_and_as_text_without_markup(server: ChatServer) -> None:
    server.answer = b'{"user_id": "@faults:127.0.0.1", "room_id": "!room:127.0.0.1", "event_id": "$1"}'
    chat.send_message_to_chat(MESSAGE, channel(f"matrix://{SECRET}@127.0.0.1:{server.server_port}/!room:127.0.0.1"), {})
    path, body = server.requests[-1]
    sent = json.loads(body)
    assert "/send/m.room.message/" in path
    assert not any("/keys/" in path for path, _ in server.requests)
    assert "&lt;!channel&gt;" in sent["formatted_body"]
    assert "**bold** `code`" in sent["formatted_body"]
    assert f'<a href="{LINK}">' in sent["formatted_body"]
    assert sent["formatted_body"].count("<a") == 1
    for written in (sent["body"], sent["formatted_body"]):
        assert "@everyone" not in written
        assert "https://evil.example" not in written


@pytest.mark.parametrize(
    ("address", "path", "answer"),
    [
        (f"discord://{DISCORD}?verify=no", "/api/webhooks/", b"{}"),
        (f"slack://{SLACK}?verify=no", "/services/", b"ok"),
        (f"workflows://prod.example.org/{SECRET}/{SECRET}?verify=no", "/workflows/", b"{}"),
        (f"https://{TEAMS}&verify=no", "/powerautomate/", b"{}"),
        (f"https://discord.com/api/webhooks/{DISCORD}?verify=no", "/api/webhooks/", b"{}"),
        (f"https://hooks.slack.com/services/{SLACK}?verify=no", "/services/", b"ok"),
        (f"pover://{'u' * 30}@{'a' * 30}?verify=no", "/1/messages", b'{"status": 1}'),
        (f"tgram://123456789:{SECRET}abcdefghijk/12315544?verify=no", "/bot123456789", b'{"ok":true,"result":{}}'),
    ],
)
@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")  # by verify=no, as nobody trusts the certificate
def test_a_public_service_gets_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, path: str, answer: bytes
) -> None:
    with behind_proxy(tmp_path) as (server, proxy):
        server.answer = answer
        use(monkeypatch, proxy)
        chat.send_message_to_chat(MESSAGE, channel(address, insecure=True), {})
    ((called, body),) = server.requests
    assert called.startswith(path)
    body = unquote_plus(body)
    assert "50 minor faults" in body
    assert LINK in body
    assert "@everyone" not in body
    assert "<!channel>" not in body or called.startswith("/1/messages"), "Pushover reads no markup"
    assert "https://evil.example" not in body


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_slack_shows_a_command_as_it_is(tmp_path: Path) -> None:
    command = "Next: bisect --case big_alloc 'a|b' & *"
    with behind_proxy(tmp_path) as (server, proxy), pytest.MonkeyPatch.context() as patch:
        server.answer = b"ok"
        use(patch, proxy)
        chat.send_message_to_chat(
            Message("k", "head", (command,)), channel(f"slack://{SLACK}?verify=no", insecure=True), {}
        )
    sent = json.loads(server.requests[0][1])
    assert sent["mrkdwn"] is False
    assert html.unescape(sent["attachments"][0]["text"]) == f"head\n{command}"


@pytest.mark.parametrize(("status", "said"), [(500, "500"), (404, "404"), (302, "302")])
def test_a_refusal_is_a_line_without_the_secret_whatever_the_options_of_the_address(
    server: ChatServer, status: int, said: str
) -> None:
    server.status = status
    options = "redirect=yes&optional=yes&retry=2&wait=0"
    with all_records() as records, pytest.raises(NotSentError) as refused:
        chat.send_message_to_chat(MESSAGE, channel(f"mmost://127.0.0.1:{server.server_port}/{SECRET}?{options}"), {})
    assert said in str(refused.value)
    assert str(refused.value).startswith("Mattermost: ")
    assert SECRET not in str(refused.value)
    assert not any(SECRET in record.getMessage() for record in records)
    assert len(server.requests) == 1, "no redirect, and the next try is not Apprise's"


def test_a_format_in_the_address_does_not_undo_the_escaping(server: ChatServer) -> None:
    chat.send_message_to_chat(MESSAGE, channel(f"mmost://127.0.0.1:{server.server_port}/{SECRET}?format=text"), {})
    assert r"\*\*bold\*\* \`code\` \<\!channel\>" in json.loads(server.requests[0][1])["text"]


def test_a_service_that_does_not_answer_is_a_line() -> None:
    with pytest.raises(NotSentError, match=r"Mattermost: .*[Cc]onnection error") as refused:
        chat.send_message_to_chat(MESSAGE, channel(f"mmost://127.0.0.1:9/{SECRET}"), {})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(("service", "end"), [("discord", "  "), ("tgram", "")])
def test_a_long_message_is_sent_in_parts_of_whole_lines(service: str, end: str) -> None:
    lines = tuple(f"line {number} " + "x" * 60 for number in range(100))
    found = list(chat.split_text_into_parts(Message("k", "head", lines), 1000, CHATS[service]))
    assert len(found) > 5
    assert max(map(len, found)) <= 1000
    assert [line for part in found for line in part.replace(f"{end}\n", "\n").split("\n")] == ["head", *lines]


@given(st.lists(st.text(alphabet='ab&<>*"@ é', max_size=60), max_size=8), st.sampled_from(sorted(CHATS)))
def test_no_part_is_longer_than_the_service_accepts(lines: list[str], service: str) -> None:
    for part in chat.split_text_into_parts(Message("k", "head", tuple(lines)), 100, CHATS[service]):
        assert len(html.escape(part)) <= 100


def test_a_line_that_is_too_long_shows_where_it_was_cut() -> None:
    head, line = chat.split_text_into_parts(Message("k", "head", ("x" * 200,)), 100, CHATS["discord"])
    assert head == "head"
    assert line == "x" * 99 + "…"


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        (f"pover://{'u' * 30}@{'a' * 30}/phone", ["u" * 30, "a" * 30]),
        (f"tgram://123456789:{SECRET}/1", [SECRET]),
        (f"matrixs://faults:p%40ss{SECRET}@chat.example.org/#room", [f"p%40ss{SECRET}", f"p@ss{SECRET}"]),
        (f"mmosts://chat.example.org/x?token={SECRET}", [SECRET]),
    ],
)
def test_what_may_be_secret_in_an_address_is_not_in_a_reason(url: str, secrets: list[str]) -> None:
    written = chat.hide_secrets(f"chat.example.org refused {url}:\n{' '.join(secrets)}", url)
    assert not any(secret in written for secret in secrets)
    assert "\n" not in written
    assert written.startswith("chat.example.org refused" if "example" in url else "chat")


@given(st.text())
def test_what_strangers_write_has_no_mark_that_is_not_escaped(text: str) -> None:
    written = chat.escape_line(text, markdown=True)
    assert "@everyone" not in written
    bare = written.replace("\\\\", "")
    for mark in "`*_[]<>#!|~&":
        assert bare.count(mark) == bare.count(f"\\{mark}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mmost://chat.example.org/token", "use mmosts"),
        ("discord://1/2?verify=no", "verify"),
        ("syslog://localhost", "does not belong to a supported service"),
        ("dbus://", "does not belong to a supported service"),
        ("http://chat.example.org/x", "does not belong to a supported service"),
        ("json://chat.example.org", "does not belong to a supported service"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        channel(url)


@pytest.mark.parametrize("url", ["https://chat.example.org/x", "discord://short", "https://json.example.org"])
def test_an_address_that_apprise_does_not_know_is_not_sent_to(url: str) -> None:
    with pytest.raises(NotSentError, match="url: "):
        chat.send_message_to_chat(MESSAGE, channel(url), {})


@pytest.mark.parametrize("address", [f"mmosts://{SECRET}@chat\u2100.example.org/x", f"mmosts://[{SECRET}]/x"])
def test_an_address_that_cannot_be_read_is_not_quoted(address: str) -> None:
    named = ChatChannel.model_validate({"name": "chat", "kind": "chat", "url_variable": "CHAT"})
    with pytest.raises(NotSentError, match="CHAT: `url` is not a valid address") as refused:
        chat.send_message_to_chat(MESSAGE, named, {"CHAT": address})
    assert SECRET not in str(refused.value)


def test_the_address_may_be_in_a_variable(server: ChatServer) -> None:
    named = ChatChannel.model_validate({"name": "chat", "kind": "chat", "url_variable": "CHAT"})
    with pytest.raises(NotSentError, match="set the environment variable CHAT"):
        chat.send_message_to_chat(MESSAGE, named, {})
    with pytest.raises(NotSentError, match="CHAT: `url` does not belong to a supported service"):
        chat.send_message_to_chat(MESSAGE, named, {"CHAT": "file:///etc/passwd"})
    chat.send_message_to_chat(MESSAGE, named, {"CHAT": f"mmost://127.0.0.1:{server.server_port}/{SECRET}"})
    assert len(server.requests) == 1
