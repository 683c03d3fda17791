"""Searches commits, runs, cases, hosts, environments and settings for words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import ColumnElement, cast, select
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.types import Text

from service.store.models import Case, Environment, Host, Revision, Series, Subject
from service.store.revisions import named_commits
from service.store.runs import compared_runs

MAX_RESULTS = 20
"""At most this many results of each kind are returned."""
_MAX_SHOWN_SETTINGS = 3
"""The result for an environment shows at most this many matching settings."""
_SHOWN_DIGITS = 8
"""The number of digits of a definition's hash that are shown."""


class Result(NamedTuple):
    """Something that a search has found."""

    kind: str
    key: str
    title: str
    details: str


def search_text(session: Session, text: str) -> Iterator[Result]:
    """Yield what a text finds, kind by kind: the run and the commits that it names, and what contains all its words."""
    words = text.split()
    if not words:
        return
    if len(words) == 1:  # only a single word can be the id of a run
        yield from (
            Result("run", side.key, side.title, side.subject or "")
            for side in compared_runs.find_sides(session, f"run:{text}")
        )
    commits = named_commits.find_commits(session, text.strip())
    yield from (
        Result("revision", entry.commit, entry.title, _describe_named_commit(text.strip(), entry)) for entry in commits
    )
    hosts = select(Host.name).where(*_contains_all(Host.name, words)).order_by(Host.name).limit(MAX_RESULTS)
    for name in session.scalars(hosts):
        yield Result("host", name, name, "")
    yield from _search_cases(session, words)
    yield from _search_environments(session, words)
    named_hashes = {entry.commit for entry in commits}
    for result in _search_revisions(session, words):
        if result.key not in named_hashes:  # those were found first, by their name
            yield result


def _describe_named_commit(text: str, commit: named_commits.NamedCommit) -> str:
    """Return the label of a commit that a text names: the text, unless it is a prefix of the hash."""
    return commit.subject if commit.commit.startswith(text.lower()) else f"{text} of {commit.subject}"


def _search_revisions(session: Session, words: list[str]) -> Iterator[Result]:
    """Yield the newest commits that match every word: the hash begins with it, or the title contains it."""
    hash_or_title = [
        Revision.commit.startswith(word.lower(), autoescape=True) | Revision.title.icontains(word, autoescape=True)
        for word in words
    ]
    rows = session.execute(
        select(Revision.commit, Revision.title, Subject.name)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(*hash_or_title)
        .order_by(Revision.position.desc())
        .limit(MAX_RESULTS)
    )
    for commit, title, subject in rows:
        yield Result("revision", commit, title, subject)


def _search_cases(session: Session, words: list[str]) -> Iterator[Result]:
    """Yield the cases whose names contain every word, each with the subjects that it measures."""
    query = select(Case).where(*_contains_all(Case.name, words)).order_by(Case.name, Case.id).limit(MAX_RESULTS)
    cases = session.scalars(query).all()
    subjects_by_case: dict[int, list[str]] = {}
    subjects = (
        select(Series.case_id, Subject.name)
        .join(Subject, Series.subject_id == Subject.id)
        .where(Series.case_id.in_([case.id for case in cases]))
        .distinct()
        .order_by(Subject.name)
    )
    for case_id, subject in session.execute(subjects):
        subjects_by_case.setdefault(case_id, []).append(subject)
    for case in cases:
        names = "".join(f"{subject}, " for subject in subjects_by_case.get(case.id, ()))
        yield Result("case", case.key, case.name, f"{names}definition {case.definition[:_SHOWN_DIGITS]}")


def _search_environments(session: Session, words: list[str]) -> Iterator[Result]:
    """Yield the environments that match every word: by their hash, or by the names and values of their settings."""
    settings = cast(Environment.settings, Text)
    conditions = [
        Environment.hash.startswith(word.lower(), autoescape=True) | settings.icontains(word, autoescape=True)
        for word in words
    ]
    for row in session.scalars(
        select(Environment).where(*conditions).order_by(Environment.id.desc()).limit(MAX_RESULTS)
    ):
        matching_settings = [
            f"{name} = {value}"
            for name, value in sorted(row.settings.items())
            if any(word.lower() in f"{name} {value}".lower() for word in words)
        ]
        yield Result("environment", row.hash, row.hash, "; ".join(matching_settings[:_MAX_SHOWN_SETTINGS]))


def _contains_all(column: InstrumentedAttribute[str], words: list[str]) -> list[ColumnElement[bool]]:
    """Return the conditions that a column contains each of the words, ignoring case."""
    return [column.icontains(word, autoescape=True) for word in words]
