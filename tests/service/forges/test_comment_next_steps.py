"""The steps that a comment suggests."""

import html
import re

import pytest

from service.forges.comment_commands import parse_commands
from service.forges.comment_links import Links
from service.forges.comment_next_steps import _build_code_block, offer_bisect
from service.rules.gate.verdict import judge_gate
from tests.service.forges import made_gates


def test_commands_of_many_bytes_are_whole() -> None:
    commands = [f"faultwatch measure größe/{'ä' * 900}{number}" for number in range(3)]
    block = _build_code_block("To measure again", commands)
    assert all(command in block.splitlines() for command in commands)


@pytest.mark.parametrize("length", [600, 900, 1100])
def test_an_offered_bisect_is_understood_as_it_is_offered(length: int) -> None:
    outcome = judge_gate(made_gates.gate(made_gates.case([100] * 30, [101] * 30, mib="x" * length)))
    offer = offer_bisect(outcome, Links(offers_bisect=True))
    shown = re.search("<code>(.*)</code>", offer)
    if length > 1000:
        assert shown is None, "a command that is cut would name no case"
        return
    assert shown is not None
    (command,) = parse_commands(html.unescape(shown[1]))
    assert command.text == outcome.cases[0].name
