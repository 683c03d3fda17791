"""Parses commands in comments, such as ``/faultwatch accept the cache is wanted``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_COMMAND_LINE = re.compile(r"/faultwatch(?:[ \t]+(\S.*))?")
_CODE_FENCE = re.compile(r"(`{3,}|~{3,})")
_MAX_COMMAND_CHARACTERS = 500
_MAX_COMMANDS = 5


class Verb(StrEnum):
    """What a command does."""

    RERUN = "rerun"
    BISECT = "bisect"
    ACCEPT = "accept"
    PROFILE = "profile"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    verb: Verb
    text: str = ""
    """The text after the verb: the reason for accepting, or the case to bisect or profile."""
    problem: str = ""
    """Why the command cannot be run as written; empty if it can."""


HELP = """\
| command | what it does |
| :--- | :--- |
| `/faultwatch rerun` | measures head and base again |
| `/faultwatch bisect CASE` | finds the commit that changed a case |
| `/faultwatch accept REASON` | accepts the change in this head, with a reason |
| `/faultwatch profile CASE` | records where the faults of a case come from |
| `/faultwatch help` | shows this table |

Only people with write access to this repository can run them.
"""


def parse_commands(comment: str) -> tuple[Command, ...]:
    """Return the first few commands of a comment: lines that start with ``/faultwatch``, outside code and quotes."""
    commands: list[Command] = []
    fence = ""  # the fence that opened the code block around the current line; empty outside code
    for line in comment.splitlines():
        fence_match = _CODE_FENCE.match(line.lstrip(" "))
        # As in CommonMark, a code block ends at a fence of the same characters that is at least as long.
        if fence_match and (not fence or fence_match[1].startswith(fence)):
            fence = "" if fence else fence_match[1]
        elif not fence and (match := _COMMAND_LINE.fullmatch(line.rstrip())):
            commands.append(_parse_command(match[1] or ""))
    return tuple(dict.fromkeys(commands))[:_MAX_COMMANDS]


def _parse_command(words: str) -> Command:
    """Return the command in a line; if it is unknown or incomplete, with the problem."""
    parts = words.split(maxsplit=1)
    word = parts[0] if parts else ""
    text = parts[1][:_MAX_COMMAND_CHARACTERS] if len(parts) > 1 else ""
    try:
        verb = Verb(word.lower() or Verb.HELP)
    except ValueError:
        return Command(Verb.HELP, problem="There is no such command.")
    if verb is Verb.ACCEPT and not text:
        return Command(verb, problem="Give a reason: `/faultwatch accept REASON`.")
    return Command(verb, text)
