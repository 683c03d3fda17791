"""The environment variables of the runner: a table of their meanings, defaults and units, through which all are read.

The service reads its variables with pydantic-settings, but this would double the time that a command takes to start.
"""

import os

from msgspec import Struct


class Variable(Struct, frozen=True):
    """A variable.

    Attributes
    ----------
    name
        The name of the variable.
    meaning
        One or two sentences, in Markdown.
    default
        The effect if the variable is not set, in Markdown.
    unit
        The unit or the form of the value; empty for any text.
    """

    name: str
    meaning: str
    default: str
    unit: str = ""


VARIABLES = (
    Variable(
        "FAULTWATCH_HOME",
        "The folder for all data: the database, the spool, the clones and the builds.",
        "`~/.local/share/faultwatch`",
        "path",
    ),
    Variable(
        "FAULTWATCH_URL",
        "The service to report to, such as `https://faults.example.org`.",
        "an embedded service on this machine",
    ),
    Variable("FAULTWATCH_TOKEN", "The token that the runner uses to sign in to the service.", "none", "secret"),
    Variable("FAULTWATCH_TOKEN_FILE", "A file that contains the token, instead of `FAULTWATCH_TOKEN`.", "none", "path"),
    Variable("FAULTWATCH_HOST", "The name of this machine in reports.", "the host name"),
    Variable(
        "FAULTWATCH_POOL",
        "A common name for a pool of interchangeable machines; reports contain it instead of `FAULTWATCH_HOST`.",
        "none",
    ),
    Variable(
        "FAULTWATCH_PORT",
        "The TCP port on which `faultwatch demo` serves the dashboard.",
        "`8080`",
        "a number, 1 to 65535",
    ),
    Variable("FAULTWATCH_CPUS", "The processors to measure on, such as `2-3`.", "all"),
    Variable("FAULTWATCH_BUILD_JOBS", "How many revisions to build at once.", "one for each processor", "a number"),
    Variable("FAULTWATCH_BUILDS_GIB", "The maximum total size of the stored builds; `0` for no limit.", "`20`", "GiB"),
    Variable(
        "FAULTWATCH_BUILDS_DAYS", "The time after which an unused build is removed; `0` for never.", "`30`", "days"
    ),
    Variable(
        "FAULTWATCH_HOST_LOCK",
        "The file or folder that a command locks so that no other command measures on the host at the same time.",
        "`/sys/kernel`",
        "path",
    ),
    Variable(
        "FAULTWATCH_EXPLAIN",
        "Whether a gate or a comparison says why a case got worse, by profiling both sides and measuring remedies.",
        "`1` for `gate`, `0` for `compare`",
        "`0` or `1`",
    ),
    Variable(
        "FAULTWATCH_SANDBOX_READ",
        "Additional folders that are visible in the sandbox if they exist; `~` is the home folder.",
        "none",
        "paths, separated by colons",
    ),
    Variable(
        "FAULTWATCH_SANDBOX_USER",
        "The user that programs in the sandbox run as, if the runner is root.",
        "`nobody`",
    ),
    Variable(
        "FAULTWATCH_DECLARED_SETTINGS",
        "The file with the declared settings of this host.",
        "`/etc/faultwatch/settings.json`",
        "path",
    ),
)
"""The variables that the runner reads."""

VARIABLES_FOR_PROGRAMS = (
    Variable("FAULTWATCH_PADDING", "Padding that makes the stack begin at the same address in each run.", ""),
    Variable("FAULTWATCH_CONTROL_FD", "The file descriptor of perf's control pipe, for a region of interest.", ""),
    Variable("FAULTWATCH_ACK_FD", "The file descriptor of the pipe on which perf acknowledges commands.", ""),
)
"""The variables that the runner sets for the measured program."""

_NAMES = frozenset(variable.name for variable in VARIABLES)


def get_value(name: str) -> str:
    """Return the value of a variable in the table; an empty text if it is not set.

    Raises
    ------
    KeyError
        The table does not contain the variable.
    """
    if name not in _NAMES:
        raise KeyError(name)
    return os.environ.get(name, "")
