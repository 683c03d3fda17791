"""Rows that many runs share: subjects, hosts, environments and cases. Several writers may create them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Table, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from runner import contract
from runner.contract.report import hash_document
from service.store.engine import bulk
from service.store.models import Case, Environment, Host, Subject

_KEYS_PER_QUERY = 500
"""At most this many keys per query, because SQLite limits the number of parameters."""


def make_case_key(case: contract.Case) -> str:
    """Return the key of a case; its name is not enough, as it does not distinguish the number 1 from the text "1"."""
    return hash_document([case.workload, case.definition, case.parameters])


def find_subject(session: Session, name: str) -> Subject | None:
    """Return the subject with this name; None if there is none."""
    return session.scalar(select(Subject).where(Subject.name == name))


def ensure_subjects(session: Session, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of subjects by name; create the missing ones."""
    return _ensure_ids(session, Subject.name, Subject.id, {name: {"name": name} for name in names})


class SharedIds(NamedTuple):
    """Ids of rows that subjects share: each mapping by name, key or hash."""

    hosts: dict[str, int]
    """By name."""
    cases: dict[str, int]
    """By key."""
    environments: dict[str, int]
    """By hash."""


def ensure_shared_rows(
    session: Session,
    hosts: Iterable[str],
    cases: Mapping[str, contract.Case],
    environments: Mapping[str, contract.Environment],
) -> SharedIds:
    """Return the ids of hosts, cases and environments; create the missing ones.

    One function adds all three, because every writer has to add them in the same order: two writers that add the same
    rows in different orders would deadlock.
    """
    case_rows = {
        key: {
            "key": key,
            "workload": case.workload,
            "definition": case.definition,
            "parameters": case.parameters,
            "name": case.name,
        }
        for key, case in cases.items()
    }
    environment_rows = {key: {"hash": key, "settings": entry.settings} for key, entry in environments.items()}
    return SharedIds(
        _ensure_ids(session, Host.name, Host.id, {name: {"name": name} for name in hosts}),
        _ensure_ids(session, Case.key, Case.id, case_rows),
        _ensure_ids(session, Environment.hash, Environment.id, environment_rows),
    )


def _ensure_ids(
    session: Session,
    key: InstrumentedAttribute[str],
    identity: InstrumentedAttribute[int],
    rows: Mapping[str, dict[str, Any]],
) -> dict[str, int]:
    """Return the ids of rows by their keys; insert the missing rows first.

    Parameters
    ----------
    key, identity
        The columns of the key and of the id.
    rows
        The values of each row, by its key.
    """
    ids = _find_ids(session, key, identity, rows)
    # Sorted by key, so that every writer adds the same rows in the same order.
    missing_rows = [rows[name] for name in sorted(rows) if name not in ids]
    if not missing_rows:
        return ids
    table = key.class_.__table__
    assert isinstance(table, Table)
    bulk.insert_missing_rows(session, table, missing_rows)
    return ids | _find_ids(session, key, identity, (name for name in rows if name not in ids))


def _find_ids(
    session: Session, key: InstrumentedAttribute[str], identity: InstrumentedAttribute[int], names: Iterable[str]
) -> dict[str, int]:
    """Return the ids of the stored rows, by their keys."""
    ids: dict[str, int] = {}
    for chunk in bulk.split_into_chunks(names, _KEYS_PER_QUERY):
        ids |= dict(session.connection().execute(select(key, identity).where(key.in_(chunk))).all())
    return ids
