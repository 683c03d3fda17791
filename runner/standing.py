"""What is known of a host before a session: it travels with every report of the session."""

from dataclasses import dataclass, field
from pathlib import Path

from runner.canary import sing
from runner.contract.trust import Canary
from runner.declared import Declaration, declaration


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the host counts right, how it was declared to be, and what could not be found out."""

    canary: Canary | None = None
    declared: Declaration = field(default_factory=Declaration)
    remarks: tuple[str, ...] = ()


def standing(home: Path) -> Standing:
    """Find it out.

    Parameters
    ----------
    home
        The runner's own folder.
    """
    song, declared = sing(home), declaration()
    return Standing(song.canary, declared, tuple(filter(None, (song.silence, declared.trouble))))
