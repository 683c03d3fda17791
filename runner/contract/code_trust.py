"""Decides whether code is trusted. No other module makes this decision.

It is passed on as the option ``--sandbox`` of a job that the service starts, and as the setting ``process.sandbox`` of
each report.
"""

from enum import StrEnum


class CodeOrigin(StrEnum):
    """The origin of the code to be built and executed."""

    OWN = "own"
    """A repository on this machine, named by the person who runs the command."""
    FETCHED = "fetched"
    """Cloned from an address."""
    PULL_REQUEST = "pull request"
    """The head of a change that nobody has reviewed."""
    ORDERED = "ordered"
    """From a job that somebody other than the owner may have ordered: a service that requires tokens has other callers
    too."""


class BuildStore(StrEnum):
    """Where builds are kept.

    A program is executed only from the store for which it was built. The names have the same length,
    because programs contain the name of the folder in which they were built.
    """

    TRUSTED = "trusted"
    """Built and executed without a sandbox."""
    SANDBOX = "sandbox"
    """Code of a repository's own branches and tags, in a sandbox."""
    PULL_REQUEST = "pullreq"
    """Everything that a pull request gate builds, including its base, and the trial builds of ``init``."""


def needs_sandbox(origin: CodeOrigin, requested: bool | None = None) -> bool:
    """Return whether code has to be confined to a sandbox.

    Parameters
    ----------
    requested
        Whether the user passed ``--sandbox`` (True) or ``--no-sandbox`` (False); None if neither.
    """
    return origin is not CodeOrigin.OWN if requested is None else requested


def choose_build_store(origin: CodeOrigin, *, sandboxed: bool) -> BuildStore:
    """Return the store in which the builds of some code are kept.

    Parameters
    ----------
    sandboxed
        The answer of :func:`needs_sandbox`.
    """
    if origin is CodeOrigin.PULL_REQUEST:
        return BuildStore.PULL_REQUEST
    return BuildStore.SANDBOX if sandboxed else BuildStore.TRUSTED
