"""Where the runner keeps its data and whom it reports to: from the environment, with defaults that just work."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from runner.contract.report import safe_name
from runner.state.cpus import parse_cpus


@dataclass(frozen=True, slots=True)
class Settings:
    """The runner's settings.

    Attributes
    ----------
    home
        ``FAULTWATCH_HOME``: database, spool, clones and builds.
    url
        ``FAULTWATCH_URL``: the service to report to; None for an embedded one.
    host
        ``FAULTWATCH_HOST``: the name of this machine in reports.
    cpus
        ``FAULTWATCH_CPUS``: the only processors to measure on, such as ``2-3``; all of them where it is not set.
    """

    home: Path
    url: str | None
    host: str
    cpus: frozenset[int] = frozenset()

    @property
    def spool(self) -> Path:
        """Reports that the service does not have yet."""
        return self.home / "spool"

    @property
    def builds(self) -> Path:
        """Built revisions."""
        return self.home / "builds"

    @property
    def programs(self) -> Path:
        """The runner's own small programs."""
        return self.home / "programs"

    @property
    def clones(self) -> Path:
        """Clones of subjects that were named by an address."""
        return self.home / "clones"


def load_settings() -> Settings:
    """Read the settings from the environment."""
    home = os.environ.get("FAULTWATCH_HOME") or "~/.local/share/faultwatch"
    return Settings(
        home=Path(home).expanduser().absolute(),
        url=os.environ.get("FAULTWATCH_URL") or None,
        host=safe_name(os.environ.get("FAULTWATCH_HOST") or socket.gethostname()),
        cpus=parse_cpus(cpus) if (cpus := os.environ.get("FAULTWATCH_CPUS")) else frozenset(),
    )
