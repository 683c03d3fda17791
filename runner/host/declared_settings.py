"""Compares the settings that the host's setup declared with the actual settings.

The declaration is a JSON file in the format of ``faultwatch env --json``: the output of this command on a correctly
set up host can serve as the declaration.

    {"settings": {"vm.swappiness": "1", "thp.enabled": "madvise"}}
"""

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from pydantic import ValidationError

from runner.contract.declared_settings import Mismatch
from runner.contract.report import Environment
from runner.variables import get_value

DECLARATION_VARIABLE = "FAULTWATCH_DECLARED_SETTINGS"
DEFAULT_DECLARATION_FILE = Path("/etc/faultwatch/settings.json")


class Declaration(Struct, frozen=True):
    """The declared settings of a host, or why they are unknown."""

    settings: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def list_mismatches(self, environment: Environment) -> tuple[Mismatch, ...]:
        """Return the declared settings whose actual value differs, sorted by name."""
        return tuple(
            Mismatch(name=name, declared=value, actual=environment.settings.get(name))
            for name, value in sorted(self.settings.items())
            if environment.settings.get(name) != value
        )


def load_declaration(file: Path | None = None) -> Declaration:
    """Read the declaration of this host. A missing file declares nothing, but is a problem if a variable names it.

    Parameters
    ----------
    file
        The file to read; None for the file that the variable names, or else the default one.
    """
    configured = get_value(DECLARATION_VARIABLE)
    file = file or Path(configured or DEFAULT_DECLARATION_FILE)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return Declaration(Environment(settings=document["settings"]).settings)
    except FileNotFoundError:
        return Declaration(problem=f"{DECLARATION_VARIABLE} names {file}, which does not exist" if configured else "")
    except OSError as error:
        return Declaration(problem=f"the declared settings cannot be read: {file}: {error.strerror}")
    except (ValueError, KeyError, TypeError, ValidationError, RecursionError):
        return Declaration(
            problem=f'{file} declares no settings: expected {{"settings": {{"NAME": "VALUE"}}}}, '
            "where every value is a string"
        )
