"""Reads the runner's settings from environment variables: where it stores its data and which service it reports to."""

import os
import re
import socket
from pathlib import Path

from msgspec import Struct

from runner.contract.report import make_safe_name
from runner.errors import FaultwatchError
from runner.system.cpu_list import parse_cpus
from runner.system.home_folder import expand_home
from runner.variables import get_value

MAX_BUILDS_GIB = 20.0
MAX_BUILDS_DAYS = 30.0
HOST_LOCK = Path("/sys/kernel")


class Settings(Struct, frozen=True):
    """The runner's settings.

    Attributes
    ----------
    home
        ``FAULTWATCH_HOME``: the folder of the database, the spool, the clones and the builds.
    url
        ``FAULTWATCH_URL``: the service to report to; None for an embedded one.
    host
        ``FAULTWATCH_HOST``: the name of this machine in reports.
    pool
        ``FAULTWATCH_POOL``: the pool of machines that this one belongs to, which is also its name; empty for none.
    cpus
        ``FAULTWATCH_CPUS``: the only processors to measure on, such as ``2-3``; empty for all.
    builds_gib
        ``FAULTWATCH_BUILDS_GIB``: the largest size of all builds in a store, in GiB; None for no limit (``0``).
    builds_days
        ``FAULTWATCH_BUILDS_DAYS``: for how many days an unused build is kept; None for no limit (``0``).
    build_jobs
        ``FAULTWATCH_BUILD_JOBS``: the number of concurrent builds; by default, one for each processor.
    lock
        ``FAULTWATCH_HOST_LOCK``: the file or folder that a command locks to measure alone on its host.
    token
        ``FAULTWATCH_TOKEN``, or the content of the file ``FAULTWATCH_TOKEN_FILE``: the token for the service.
    """

    home: Path
    url: str | None
    host: str
    cpus: frozenset[int] = frozenset()
    builds_gib: float | None = MAX_BUILDS_GIB
    builds_days: float | None = MAX_BUILDS_DAYS
    build_jobs: int = 1
    lock: Path = HOST_LOCK
    token: str | None = None
    pool: str = ""

    def __repr__(self) -> str:
        """Return a text without the token, which must not reach a log or a traceback."""
        return f"Settings(home={str(self.home)!r}, url={self.url!r}, host={self.host!r})"

    @property
    def spool(self) -> Path:
        """The folder of reports that the service does not have yet."""
        return self.home / "spool"

    @property
    def builds(self) -> Path:
        """The folder of built revisions."""
        return self.home / "builds"

    @property
    def programs(self) -> Path:
        """The folder of the runner's own compiled programs."""
        return self.home / "programs"

    @property
    def copies(self) -> Path:
        """The folder of private copies of files that other programs map."""
        return self.home / "copies"

    @property
    def clones(self) -> Path:
        """The folder of the clones of subjects that were given by an address."""
        return self.home / "clones"


def load_settings() -> Settings:
    """Read the settings from the environment.

    Raises
    ------
    FaultwatchError
        A variable has a value that is not valid.
    """
    pool_name, cpus = get_value("FAULTWATCH_POOL"), get_value("FAULTWATCH_CPUS")
    pool = make_safe_name(pool_name) if pool_name else ""
    home = get_value("FAULTWATCH_HOME") or "~/.local/share/faultwatch"
    return Settings(
        home=expand_home(home).absolute(),
        url=_read_url(),
        host=pool or make_safe_name(get_value("FAULTWATCH_HOST") or socket.gethostname()),
        pool=pool,
        cpus=parse_cpus(cpus) if cpus else frozenset(),
        builds_gib=_read_limit("FAULTWATCH_BUILDS_GIB", MAX_BUILDS_GIB),
        builds_days=_read_limit("FAULTWATCH_BUILDS_DAYS", MAX_BUILDS_DAYS),
        build_jobs=int(_read_limit("FAULTWATCH_BUILD_JOBS", len(os.sched_getaffinity(0))) or 1),
        lock=Path(get_value("FAULTWATCH_HOST_LOCK") or HOST_LOCK),
        token=_read_token(),
    )


def _read_limit(name: str, default: float) -> float | None:
    """Read a limit; return None for 0, which means no limit.

    Raises
    ------
    FaultwatchError
        The value is not a number, or it is negative.
    """
    text = get_value(name) or str(default)
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise FaultwatchError(
            f"{name}={text!r} is neither a positive number nor 0", "write a number such as 20, or 0 for no limit"
        )
    return float(text) or None


def _read_url() -> str | None:
    """Return the service's address; None if it is not set.

    Raises
    ------
    FaultwatchError
        The value is not an HTTP address.
    """
    url = get_value("FAULTWATCH_URL") or None
    if url and not re.match(r"https?://[^/\s]", url):
        raise FaultwatchError("FAULTWATCH_URL is not a valid URL", "write it in full, as in https://faults.example.org")
    return url


def _read_token() -> str | None:
    """Return the token; None if there is none.

    Raises
    ------
    FaultwatchError
        The file cannot be read, or its content is not a token. The message does not contain the content.
    """
    text, source = get_value("FAULTWATCH_TOKEN"), "FAULTWATCH_TOKEN"
    file = get_value("FAULTWATCH_TOKEN_FILE")
    if not text and file:
        source = f"FAULTWATCH_TOKEN_FILE={file}"
        try:
            text = Path(file).read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise FaultwatchError(f"{source}: {error.strerror}", "use a file that the runner can read") from None
    token = text.strip()
    if not re.fullmatch(r"[!-~]*", token):  # visible ASCII characters, which an HTTP header may contain
        raise FaultwatchError(f"{source} does not contain a valid token", "store only the token there")
    return token or None
