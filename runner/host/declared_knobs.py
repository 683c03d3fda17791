"""Knobs that whatever set the host up declared, beside those that hold.

The file is JSON, in the form in which ``faultwatch env --json`` prints: what it printed on a host that was as it should
be can serve as the declaration.

    {"knobs": {"vm.swappiness": "1", "thp.enabled": "madvise"}}
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from runner.contract.report import Environment
from runner.contract.trust import Mismatch

VARIABLE = "FAULTWATCH_DECLARED_KNOBS"
DEFAULT = Path("/etc/faultwatch/knobs.json")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What was declared, or why that cannot be told."""

    knobs: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def mismatches(self, held: Environment) -> tuple[Mismatch, ...]:
        """Return the declared knobs that do not hold, by name; knobs that nobody declared are free."""
        return tuple(
            Mismatch(name=name, declared=value, held=held.knobs.get(name))
            for name, value in sorted(self.knobs.items())
            if held.knobs.get(name) != value
        )


def declaration(file: Path | None = None) -> Declaration:
    """Read the declaration of this host; without a file nothing is declared, unless one was named."""
    named = os.environ.get(VARIABLE)
    file = file or Path(named or DEFAULT)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return Declaration(Environment(knobs=document["knobs"]).knobs)
    except FileNotFoundError:
        return Declaration(problem=f"{file}, which {VARIABLE} names, is not there" if named else "")
    except OSError as error:
        return Declaration(problem=f"the declared knobs cannot be read: {file}: {error.strerror}")
    except (ValueError, KeyError, TypeError, ValidationError):
        return Declaration(
            problem=f'{file} declares no knobs: it should be {{"knobs": {{"NAME": "VALUE"}}}}, all texts'
        )
