from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.forges.comment_commands import Command, Verb, parse_commands


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
        ("```\n```text\n/faultwatch rerun\n```", []),
        ("```quoted```\n/faultwatch rerun", [Command(Verb.RERUN)]),
        ("    ```\n/faultwatch rerun", [Command(Verb.RERUN)]),
        ("> as you wish\u2028/faultwatch rerun", []),
        ("> as you wish\x0b/faultwatch rerun", []),
        ("/faultwatcher rerun", []),
        ("", []),
    ],
)
def test_a_command_is_a_line_of_its_own(comment: str, commands: list[Command]) -> None:
    assert list(parse_commands(comment)) == commands


def test_what_cannot_be_done_says_why() -> None:
    (unknown, bare) = parse_commands("/faultwatch explode\n/faultwatch accept")
    assert unknown.verb is Verb.HELP
    assert "no such command" in unknown.problem
    assert "accept REASON" in bare.problem


@given(st.text(st.sampled_from("/faultwatch rerun\n\r`~> @x"), max_size=300))
def test_no_comment_is_too_strange(comment: str) -> None:
    assert len(parse_commands(comment)) <= 5
