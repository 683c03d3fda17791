"""Checks a bisect that a person orders with a form, before it is queued: every name in it has to be stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from runner.contract.word_list import join_first_words
from service.pipeline.resolve_commit_name import resolve_commit_name
from service.rules.series import candidate_commits
from service.schemas.history import Candidate
from service.store import environments
from service.store.models import Case, Host, RefRow, Series, Subject
from service.store.revisions import refs, revisions

_MAX_LISTED_NAMES = 5
"""A sentence lists at most this many names."""
_MIN_SIMILARITY = 0.5
"""A name is suggested if its similarity, from 0 to 1, is at least this: half of the letters of both are the same."""


@dataclass(frozen=True, slots=True)
class CheckedBisect:
    """The result of a check.

    Attributes
    ----------
    values
        The values of the form, with the full hashes of its commits.
    objections
        By field: a sentence on what is wrong with it and what to write instead.
    range
        The commits that ``bad`` contains, but not ``good``; empty if something is wrong.
    """

    values: Mapping[str, str]
    objections: Mapping[str, str] = field(default_factory=dict)
    range: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a form offers as completions."""

    subjects: Sequence[str]
    cases: Sequence[str]
    metrics: Sequence[str]
    hosts: Sequence[str]
    commits: Sequence[Candidate | RefRow]
    """Tags and branches, then the newest commits."""


def list_known_names(session: Session, subject: str, limit: int) -> KnownNames:
    """Return the completions of a form: the names of the subject if it exists, otherwise those of all subjects."""
    series = select(Series).join(Series.subject).join(Series.case).join(Series.host)
    subjects = list(session.scalars(select(Subject.name).order_by(Subject.name)))
    if subject in subjects:
        series = series.where(Subject.name == subject)

    def list_names(column: InstrumentedAttribute[str]) -> list[str]:
        return list(session.scalars(series.with_only_columns(column).distinct().order_by(column).limit(limit)))

    subject_of_commits = None  # commits of several subjects are of no use together
    if subject in subjects:
        subject_of_commits = subject
    elif len(subjects) == 1:
        subject_of_commits = subjects[0]
    commits = list_known_commits(session, subject_of_commits, limit) if subject_of_commits else []
    return KnownNames(
        subjects=subjects,
        cases=list_names(Case.name),
        metrics=list_names(Series.metric),
        hosts=list_names(Host.name),
        commits=commits,
    )


def list_known_commits(session: Session, subject: str, limit: int) -> list[Candidate | RefRow]:
    """Return the completions of a field that takes a commit: tags and branches, then the newest commits."""
    return [*refs.list_refs(session, subject, limit), *revisions.list_newest_commits(session, subject, limit)]


def check_form(session: Session, form: Mapping[str, str]) -> CheckedBisect:
    """Check the fields of a form: subject, case, metric, host, and both ends of the range."""
    # Check the subject.
    values, objections = dict(form), {}
    subjects = list(session.scalars(select(Subject.name).order_by(Subject.name)))
    subject = values.get("subject", "")
    if subject not in subjects:
        return CheckedBisect(values, {"subject": _describe_unknown_name("subject", subject, subjects)})
    # Check case, metric and host: each has to have a series.
    rows = session.execute(
        select(Case.name, Series.metric, Host.name)
        .select_from(Series)
        .join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .where(Subject.name == subject)
    ).all()
    case, metric_name, host = values.get("case", ""), values.get("metric", ""), values.get("host", "")
    cases = sorted({case_of_row for case_of_row, _, _ in rows})
    metrics = sorted({metric_of_row for case_of_row, metric_of_row, _ in rows if case_of_row == case})
    hosts = sorted({host_of_row for case_of_row, _, host_of_row in rows if case_of_row == case})
    if case not in cases:
        objections["case"] = _describe_unknown_name("case", case, cases, f" of {subject}")
    else:
        if metric_name not in metrics:
            objections["metric"] = _describe_unknown_name("metric", metric_name, metrics, f" of {case}")
        if host and host not in hosts:
            objections["host"] = _describe_unknown_name("host", host, hosts, f" that has measured {case}")
        elif environments.has_only_imported_runs(session, subject, case, host):
            objections["case"] = f"The results of {case} were imported, so no host can measure the case again."
    # Check both ends: the bad end has to descend from the good end.
    good = _check_commit(session, subject, values.get("good", ""), "good", objections)
    bad = _check_commit(session, subject, values.get("bad", ""), "bad", objections)
    commits_in_range: frozenset[str] = frozenset()
    if good and bad:
        values |= {"good": good, "bad": bad}
        parents = revisions.map_parents(
            session, session.scalars(select(Subject.id).where(Subject.name == subject)).one()
        )
        if good == bad:
            objections["bad"] = "Both ends of the range are the same commit: there is nothing to search."
        elif candidate_commits.is_ancestor(parents, bad, good):
            commits_in_range = candidate_commits.list_commits_between(parents, good, bad)
        else:
            objections["bad"] = f"{bad[:10]} does not descend from {good[:10]}, as far as the service knows."
    return CheckedBisect(values, objections, frozenset() if objections else commits_in_range)


def _check_commit(session: Session, subject: str, text: str, end: str, objections: dict[str, str]) -> str | None:
    """Return the commit that the field of an end names; if there is none, add an objection and return None."""
    entry, reason = resolve_commit_name(session, text, subject)
    if entry is None:
        objections[end] = reason
        return None
    return entry.commit


def _describe_unknown_name(kind: str, text: str, names: Sequence[str], owner_phrase: str = "") -> str:
    """Return a sentence saying that there is no item with a name, with the most similar names.

    Parameters
    ----------
    owner_phrase
        To which subject or case the item would belong, such as " of redis".
    """
    sentence = f"There is no {kind} “{text}”{owner_phrase}"
    if not names:
        return f"{sentence}: nothing has been stored yet."
    similar_names = get_close_matches(text, names, n=_MAX_LISTED_NAMES, cutoff=_MIN_SIMILARITY)
    if similar_names:
        return f"{sentence}. Did you mean {' or '.join(similar_names)}?"
    return f"{sentence}. The service knows {join_first_words(names, _MAX_LISTED_NAMES)}."
