from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.github.commands import Command, Verb, parse
from service.github.retry import MOST_ATTEMPTS, decide_retry
from service.github.webhook_actions import EVENTS, actions_for

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("comment", "commands"),
    [
        ("/faultwatch rerun", [Command(Verb.RERUN)]),
        (
            "Thanks!\r\n/faultwatch  Accept   the cache is *wanted* \r\n",
            [Command(Verb.ACCEPT, "the cache is *wanted*")],
        ),
        ("/faultwatch bisect copy[mib=4]", [Command(Verb.BISECT, "copy[mib=4]")]),
        ("/faultwatch rerun\n/faultwatch rerun", [Command(Verb.RERUN)]),
        ("/faultwatch", [Command(Verb.HELP)]),
        ("please /faultwatch rerun", []),
        ("> /faultwatch rerun", []),
        ("    /faultwatch rerun", []),
        ("```\n/faultwatch rerun\n```\n~~~~\n/faultwatch rerun\n~~~\n/faultwatch rerun", []),
        ("/faultwatcher rerun", []),
        ("", []),
    ],
)
def test_a_command_is_a_line_of_its_own(comment: str, commands: list[Command]) -> None:
    assert list(parse(comment)) == commands


def test_what_cannot_be_done_says_why() -> None:
    (unknown, bare) = parse("/faultwatch explode\n/faultwatch accept")
    assert unknown.verb is Verb.HELP
    assert "no such command" in unknown.problem
    assert "accept REASON" in bare.problem


@given(st.text(st.sampled_from("/faultwatch rerun\n\r`~> @x"), max_size=300))
def test_no_comment_is_too_strange(comment: str) -> None:
    assert len(parse(comment)) <= 5


_KEYS = st.sampled_from(["action", "comment", "issue", "pull_request", "body", "repository", "check_run", "label"])
_JSON = st.recursive(
    st.none() | st.integers() | st.just("created"), lambda inner: st.dictionaries(_KEYS, inner), max_leaves=6
)


@settings(max_examples=50)
@given(st.sampled_from(sorted(EVENTS)), st.dictionaries(_KEYS, _JSON))
def test_no_payload_is_too_strange(event: str, payload: dict[str, object]) -> None:
    assert isinstance(actions_for(event, payload), tuple)


@pytest.mark.parametrize(
    ("status", "headers", "message", "attempts", "seconds"),
    [
        (500, {}, "", 1, 5),
        (502, {}, "", 3, 20),
        (None, {}, "no answer", 2, 10),
        (503, {"retry-after": "40"}, "", 1, 40),
        (429, {}, "", 1, 60),
        (403, {"retry-after": "7"}, "", 1, 7),
        (403, {}, "You have exceeded a secondary rate limit", 1, 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225700"}, "", 1, 100),
        (403, {"retry-after": "99999999"}, "", 1, 3 * 3600),
        (403, {}, "Resource not accessible by integration", 1, 5),
        (403, {"retry-after": "7"}, "", MOST_ATTEMPTS, 7),
        (404, {}, "", 1, None),
        (422, {}, "", 1, None),
        (500, {}, "", MOST_ATTEMPTS, None),
    ],
)
def test_when_to_try_again(
    status: int | None, headers: dict[str, str], message: str, attempts: int, seconds: int | None
) -> None:
    found = decide_retry(status, headers, message, attempts, NOW)
    assert found.at == (None if seconds is None else NOW + timedelta(seconds=seconds))
