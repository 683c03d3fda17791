"""Where the runner keeps its data and whom it reports to: from the environment, with defaults that just work."""

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

from runner.contract.report import safe_name
from runner.errors import FaultwatchError
from runner.system.cpu_list import parse_cpus


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
    token
        ``FAULTWATCH_TOKEN``, or the text of the file that ``FAULTWATCH_TOKEN_FILE`` names: what the service asks for.
    """

    home: Path
    url: str | None
    host: str
    cpus: frozenset[int] = frozenset()
    token: str | None = field(default=None, repr=False)

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
    def copies(self) -> Path:
        """Private copies of files that other programs map."""
        return self.home / "copies"

    @property
    def clones(self) -> Path:
        """Clones of subjects that were named by an address."""
        return self.home / "clones"


def load_settings() -> Settings:
    """Read the settings from the environment."""
    home = os.environ.get("FAULTWATCH_HOME") or "~/.local/share/faultwatch"
    return Settings(
        home=Path(home).expanduser().absolute(),
        url=_url(),
        host=safe_name(os.environ.get("FAULTWATCH_HOST") or socket.gethostname()),
        cpus=parse_cpus(cpus) if (cpus := os.environ.get("FAULTWATCH_CPUS")) else frozenset(),
        token=_token(),
    )


def _url() -> str | None:
    """Read the service's address.

    Raises
    ------
    FaultwatchError
        Where it is none.
    """
    url = os.environ.get("FAULTWATCH_URL") or None
    if url and not re.match(r"https?://[^/\s]", url):
        raise FaultwatchError(
            "FAULTWATCH_URL does not hold an address", "write it in full, as in https://faults.example.org"
        )
    return url


def _token() -> str | None:
    """Read the token.

    Raises
    ------
    FaultwatchError
        Where its file cannot be read, or what is there cannot be a token. It is not told what is there.
    """
    text, source = os.environ.get("FAULTWATCH_TOKEN"), "FAULTWATCH_TOKEN"
    if not text and (file := os.environ.get("FAULTWATCH_TOKEN_FILE")):
        source = f"FAULTWATCH_TOKEN_FILE={file}"
        try:
            text = Path(file).read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise FaultwatchError(f"{source}: {error.strerror}", "name a file that the runner may read") from None
    text = (text or "").strip()
    if not re.fullmatch(r"[!-~]*", text):
        raise FaultwatchError(f"{source} holds what cannot be a token", "put the token there, and nothing else")
    return text or None
