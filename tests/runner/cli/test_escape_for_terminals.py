"""What untrusted text may do to our output."""

import json
from pathlib import Path

import pytest

from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.cli.terminal import get_console, print_message
from tests.log_readers import commands_in
from tests.runner.commands import faultwatch
from tests.runner.http_stub import Answer, http_stub


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b31m", "a\rb", "\x07", "\u202e", "\x00", "\x7f"])
def test_no_control_character_is_left(text: str) -> None:
    assert "\N{REPLACEMENT CHARACTER}" in strip_escape_sequences(text)


@pytest.mark.parametrize(
    "text", ["::error::x", "a\n  ::add-mask::x", "a ##[group]x", "a\r\n::stop-commands::x", "#\u200b#vso[x]"]
)
def test_no_line_is_a_command(text: str) -> None:
    assert not commands_in(strip_escape_sequences(text))


def test_ordinary_text_stays() -> None:
    text = "std::vector\tgrew 3 × — ok\n  namespace a::b"
    assert strip_escape_sequences(text) == text


def test_a_unit_stays_readable_beside_its_number() -> None:
    assert strip_escape_sequences("21.1\N{NO-BREAK SPACE}ms, 0\N{NARROW NO-BREAK SPACE}s") == "21.1 ms, 0 s"


def test_a_message_of_a_job_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    get_console.cache_clear()  # it may write to the standard error of an earlier test
    print_message("job 1 was paused: \x1b]0;pwned\x07\n::error::pwned")
    shown = capsys.readouterr().err
    assert "pwned" in shown
    assert "\x1b" not in shown
    assert "\n::" not in shown


def test_the_reason_that_a_service_gives_is_harmless(tmp_path: Path) -> None:
    problem = {"title": "x", "detail": "\x1b]0;pwned\x07 \x9b31m\u202e\n::error::pwned\r##[error]pwned"}
    with http_stub() as stub:
        stub.always = Answer(403, json.dumps(problem))
        code, output, messages = faultwatch(tmp_path / "home", "jobs", url=stub.url)
    assert (code, output) == (2, "")
    assert "pwned" in messages
    assert not [letter for letter in messages if not letter.isprintable() and letter != "\n"]
    assert not commands_in(messages)
