"""Rows that many runs share: found by what they are, made where there is none yet."""

from __future__ import annotations

from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner import contract
from runner.contract.report import hash_of
from service.store.models import Case, Environment, Host, Subject

Row = TypeVar("Row", Subject, Host, Environment, Case)


def case_key(case: contract.Case) -> str:
    """Return what makes a case the same one: a name alone does not tell the number 1 from the text "1"."""
    return hash_of([case.workload, case.definition, case.parameters])


def subject(session: Session, name: str) -> Subject:
    """Return the subject of this name."""
    return find_subject(session, name) or _add(session, Subject(name=name))


def find_subject(session: Session, name: str) -> Subject | None:
    """Return the subject of this name, if there is one."""
    return session.scalar(select(Subject).where(Subject.name == name))


def host(session: Session, name: str) -> Host:
    """Return the host of this name."""
    return session.scalar(select(Host).where(Host.name == name)) or _add(session, Host(name=name))


def environment(session: Session, held: contract.Environment) -> Environment:
    """Return the row of an environment."""
    found = session.scalar(select(Environment).where(Environment.hash == held.hash))
    return found or _add(session, Environment(hash=held.hash, knobs=held.knobs))


def case(session: Session, case: contract.Case) -> Case:
    """Return the row of a case."""
    key = case_key(case)
    return session.scalar(select(Case).where(Case.key == key)) or _add(
        session,
        Case(
            key=key,
            workload=case.workload,
            definition=case.definition,
            parameters=case.parameters,
            name=case.name,
        ),
    )


def _add(session: Session, row: Row) -> Row:
    session.add(row)
    session.flush()
    return row
