"""Orders the revisions of imported runs: as in the repository, otherwise by the time of their first measurement."""

import hashlib
import re
from collections.abc import Callable, Mapping, Set
from datetime import datetime

from pydantic import ValidationError

from runner.contract.report import Revision
from runner.errors import FaultwatchError

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_NAME_CHARACTERS = 200
"""How much of the name of a revision is kept: a file can contain any text."""


def place_revisions(
    first_measured_at: Mapping[tuple[str, str], datetime],
    guessed_locations: Mapping[str, str],
    find_commit: Callable[[str], Revision | None],
    location: str,
) -> dict[tuple[str, str], Revision]:
    """Return the commit of each revision; one that is not in the repository is placed by its first measurement.

    Parameters
    ----------
    first_measured_at
        When each revision was first measured, by its subject and name.
    guessed_locations
        Where the revisions are stated whose times are only those of their files, by name.
    find_commit
        Returns the commit with a name; None if the repository has none.
    location
        Where the first revision is stated.

    Raises
    ------
    FaultwatchError
        The order of the revisions is unknown, the name of one is not allowed, or its time is not plausible.
    """
    revisions = {key: find_commit(key[1]) for key in first_measured_at}
    _check_order(guessed_locations, {name for (_, name), commit in revisions.items() if commit is None})
    return {
        key: revisions[key] or _create_revision(*key, first_measured, location)
        for key, first_measured in first_measured_at.items()
    }


def _check_order(guessed_locations: Mapping[str, str], unknown_revisions: Set[str]) -> None:
    """Raise if the order of unknown revisions could only be guessed from the modification times of their files."""
    locations = [location for name, location in guessed_locations.items() if name in unknown_revisions]
    if len(locations) > 1:
        raise FaultwatchError(
            f"{locations[0]}: neither the file nor its name says when this was measured, so the order of the "
            f"{len(locations)} revisions is unknown",
            "pass the repository with --repo: its history determines the order",
        )


def _create_revision(subject: str, revision: str, first_measured: datetime, location: str) -> Revision:
    """Return a substitute commit for a revision that the repository does not have.

    Raises
    ------
    FaultwatchError
        The name of the revision is not allowed, or its time is not plausible.
    """
    try:
        return _build_substitute_commit(subject, revision, first_measured)
    except ValidationError as error:
        # The file has none of the commit's fields, so the message names what they were made of.
        if error.errors()[0]["loc"] == ("committed_at",):
            mistake = f"the time of the measurement is not plausible: {first_measured.date()}"
        else:
            mistake = "the name of the revision contains characters that are not allowed"
        raise FaultwatchError(f"{location}: {mistake}") from None


def _build_substitute_commit(subject: str, revision: str, first_measured: datetime) -> Revision:
    """Create a substitute commit for a revision whose hash is unknown.

    A full hash is kept: the repository may provide the details of the commit later. Any other name is replaced by its
    SHA-256, and the title contains the name. Pages show the hash before the title, so the title does not repeat it.
    """
    if _COMMIT.fullmatch(revision):
        commit, name = revision, ""
    else:
        commit, name = _make_commit_hash(f"{subject}\n{revision}"), f"{revision[:_MAX_NAME_CHARACTERS]} "
    title = f"{name}(imported; placed by its first measurement)"
    return Revision(commit=commit, committed_at=first_measured, title=title)


def _make_commit_hash(text: str) -> str:
    """Return 64 hex digits, which no commit of a git repository with SHA-1 hashes can have."""
    # JSON can contain half of a surrogate pair. The report's validation rejects it later, with a reason.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
