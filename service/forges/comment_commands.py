"""Parses commands in comments, such as ``/faultwatch accept the cache is wanted``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_COMMAND_LINE = re.compile(r"/faultwatch(?:[ \t]+(\S.*))?")
_LINE_END = re.compile(r"\r\n?|\n")
"""The line endings of Markdown. Python's ``splitlines`` knows more, so a quoted line could contain a further line."""
_CODE_FENCE = re.compile(r" {0,3}(?P<marker>`{3,}|~{3,})(?P<rest>.*)")
"""A fence of a code block, which may be indented by at most three spaces (CommonMark, "Fenced code blocks")."""
_MAX_TEXT_CHARACTERS = 1_000
"""Largest length of the text after a verb: as long as a case can be named in a command that a comment offers."""
_MAX_COMMANDS = 5
"""Largest number of commands of a comment that are run, because each can start a workflow."""


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
| `/faultwatch bisect CASE` | finds the commit that caused the change in a case |
| `/faultwatch accept REASON` | accepts the change in this head, with a reason |
| `/faultwatch profile CASE` | records where the faults of a case come from |
| `/faultwatch help` | shows this table |

Only people with write access to this repository can run them.
"""


def parse_commands(comment: str) -> tuple[Command, ...]:
    """Return the first few commands of a comment: lines that start with ``/faultwatch``, outside code and quotes."""
    commands: list[Command] = []
    fence = ""  # the fence that opened the code block around the current line; empty outside code
    for line in _LINE_END.split(comment):
        fence_match = _CODE_FENCE.fullmatch(line)
        if fence:
            if fence_match and _is_end_of_code(fence, fence_match):
                fence = ""
        elif fence_match and not _is_inline_code(fence_match):
            fence = fence_match["marker"]
        elif match := _COMMAND_LINE.fullmatch(line.rstrip()):
            commands.append(_parse_command(match[1] or ""))
    return tuple(dict.fromkeys(commands))[:_MAX_COMMANDS]


def _is_end_of_code(fence: str, match: re.Match[str]) -> bool:
    """Return whether a fence ends a code block: the same characters, at least as many, and nothing after them."""
    return match["marker"].startswith(fence) and not match["rest"].strip()


def _is_inline_code(match: re.Match[str]) -> bool:
    """Return whether a line that looks like a fence is inline code: it has further backticks."""
    return match["marker"].startswith("`") and "`" in match["rest"]


def _parse_command(words: str) -> Command:
    """Return the command in a line; if it is unknown or incomplete, with the problem."""
    parts = words.split(maxsplit=1)
    word = parts[0] if parts else ""
    text = parts[1][:_MAX_TEXT_CHARACTERS] if len(parts) > 1 else ""
    try:
        verb = Verb(word.lower() or Verb.HELP)  # `/faultwatch` alone asks for help
    except ValueError:
        return Command(Verb.HELP, problem="There is no such command.")
    if verb is Verb.ACCEPT and not text:
        return Command(verb, problem="Give a reason: `/faultwatch accept REASON`.")
    return Command(verb, text)
