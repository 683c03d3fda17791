"""Commands in comments: ``/faultwatch accept the cache is wanted``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_LINE = re.compile(r"/faultwatch(?:[ \t]+(\S.*))?")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LONGEST = 500
_MOST = 5


class Verb(StrEnum):
    """What can be asked for."""

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
    """What follows the verb: the reason to accept, the case to bisect or to profile."""
    problem: str = ""
    """Why it cannot be done as it was written."""


HELP = """\
| command | what it does |
| :--- | :--- |
| `/faultwatch rerun` | measures head and base again |
| `/faultwatch bisect CASE` | looks for the commit that changed a case |
| `/faultwatch accept REASON` | accepts this head's change, with the reason why |
| `/faultwatch profile CASE` | records where the faults of a case come from |
| `/faultwatch help` | says this |

They are for people who may write to this repository.
"""


def parse(comment: str) -> tuple[Command, ...]:
    """Return the commands of a comment: lines that start with ``/faultwatch``, and are no code and no quote.

    Of a comment with many, the first few are taken.
    """
    found: list[Command] = []
    fence = ""
    for line in comment.splitlines():
        mark = _FENCE.match(line.lstrip(" "))
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (told := _LINE.fullmatch(line.rstrip())):
            found.append(_command(told[1] or ""))
    return tuple(dict.fromkeys(found))[:_MOST]


def _command(told: str) -> Command:
    word, *rest = told.split(maxsplit=1)[:2] or [""]
    text = rest[0][:_LONGEST] if rest else ""
    try:
        verb = Verb(word.lower() or Verb.HELP)
    except ValueError:
        return Command(Verb.HELP, problem="There is no such command.")
    if verb is Verb.ACCEPT and not text:
        return Command(verb, problem="Say why, for those who come later: `/faultwatch accept REASON`.")
    return Command(verb, text)
