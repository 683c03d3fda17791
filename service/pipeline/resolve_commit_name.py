"""Resolves the name of a commit: finds the commit that a text names, or explains in a sentence why there is none."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.store.revisions import named_commits, revisions
from service.store.revisions.named_commits import NamedCommit

_SHORT_HASH_DIGITS = 12
_FURTHER_DIGITS = 4
"""How many digits are shown after an ambiguous prefix of a hash, so that the commits can be distinguished."""
NAMING_ADVICE = (
    "Enter a tag, a branch, a date such as 2026-11-20, or at least four digits of a hash. Append ~20 to go back "
    "twenty commits."
)


def resolve_commit_name(session: Session, text: str, subject: str | None = None) -> tuple[NamedCommit | None, str]:
    """Return the commit that a text uniquely names; otherwise None, and sentences on why and what to write instead."""
    # If a tag and a branch, for instance, name the same commit, it counts once.
    found_commits = named_commits.find_commits(session, text, subject)
    commits = list({(entry.subject, entry.commit): entry for entry in found_commits}.values())
    if len(commits) == 1:
        return commits[0], ""
    subject_phrase = f" of {subject}" if subject else ""
    if not commits:
        advice = named_commits.describe_first_commit(session, text, subject)
        if not advice:
            advice = f"{NAMING_ADVICE}{_describe_newest_commit(session, subject)}"
        return None, f"There is no commit {text}{subject_phrase}. {advice}"
    if len({entry.subject for entry in commits}) == 1:
        n_digits = max(_SHORT_HASH_DIGITS, len(text) + _FURTHER_DIGITS)
        names = ", ".join(entry.commit[:n_digits] for entry in commits)
        return None, f"{text} matches several commits{subject_phrase}: {names}. Enter one of these hashes."
    names = ", ".join(f"{entry.commit[:_SHORT_HASH_DIGITS]} of {entry.subject}" for entry in commits)
    return None, f"{text} matches several commits: {names}. Specify the subject."


def _describe_newest_commit(session: Session, subject: str | None) -> str:
    newest_commits = revisions.list_newest_commits(session, subject, 1) if subject else []
    return f" The newest commit that the service knows is {newest_commits[0].commit[:10]}." if newest_commits else ""
