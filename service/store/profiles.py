"""Profiles: stored once, never changed, and read with or without their stacks."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, select, update
from sqlalchemy.orm import Session

from runner.contract.profile import Profile
from service.rules.profile_without_stacks import build_list_entry, summarise_profile
from service.rules.thinned_reports_and_profiles import thin_profile
from service.schemas.profile_summaries import ProfileList, ProfileWithoutStacks
from service.store import shared_rows
from service.store.engine.database import Database
from service.store.models import Case, Environment, Host, Revision, StoredProfile, Subject
from service.store.revisions import named_commits, revisions

_COMPRESSION_LEVEL = 3
"""A fast gzip level, because somebody waits for it."""


class StoreResult(Enum):
    """The result of storing a profile."""

    CREATED = "created"
    KNOWN = "known"
    CONFLICTING = "conflicting"


@dataclass(frozen=True, slots=True)
class PreparedProfile:
    """A profile with all its stored values, which are computed before the write lock is taken."""

    profile: Profile
    digest: str
    summary: bytes
    document: bytes


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """Selects profiles; None selects all."""

    subject: str | None = None
    case: str | None = None
    revision: str | None = None
    host: str | None = None

    def list_conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the table of profiles."""
        is_of_commit = named_commits.match_commit(self.revision or "")  # not used without a revision
        filters = (
            (StoredProfile.subject_id, select(Subject.id).where(Subject.name == self.subject), self.subject),
            (StoredProfile.case_id, select(Case.id).where(Case.name == self.case), self.case),
            (StoredProfile.revision_id, select(Revision.id).where(is_of_commit), self.revision),
            (StoredProfile.host_id, select(Host.id).where(Host.name == self.host), self.host),
        )
        return [column.in_(ids) for column, ids, value in filters if value is not None]


_NEWEST_FIRST = (StoredProfile.started_at.desc(), StoredProfile.number.desc())


def read_seconds_per_fault(session: Session, profile_filter: ProfileFilter, environment: str) -> float | None:
    """Return the CPU time of a fault according to the newest profile in an environment; None if it was not measured."""
    query = (
        select(StoredProfile.summary)
        .join(Environment, StoredProfile.environment_id == Environment.id)
        .where(Environment.hash == environment, *profile_filter.list_conditions())
    )
    packed_summary = session.scalar(query.order_by(*_NEWEST_FIRST).limit(1))
    return None if packed_summary is None else _unpack_summary(packed_summary).seconds_per_fault


def prepare_profile(profile: Profile) -> PreparedProfile:
    """Compute the stored values of a profile."""
    text = _encode_profile(profile)
    return PreparedProfile(profile, sha256(text).hexdigest(), _pack_summary(profile), _compress_profile(text))


def store_profile(session: Session, prepared_profile: PreparedProfile) -> StoreResult:
    """Store a profile if it is new; a stored profile is never replaced."""
    profile = prepared_profile.profile
    digest = session.scalar(select(StoredProfile.digest).where(StoredProfile.id == profile.profile_id))
    if digest is not None:
        return StoreResult.KNOWN if digest == prepared_profile.digest else StoreResult.CONFLICTING
    subject_id = shared_rows.ensure_subjects(session, [profile.subject])[profile.subject]
    commit = profile.revision.commit
    revision_id, _position = revisions.ensure_commits(session, subject_id, [profile.revision])[commit]
    key = shared_rows.make_case_key(profile.case)
    environment = profile.environment.hash
    shared_ids = shared_rows.ensure_shared_rows(
        session, [profile.host.name], {key: profile.case}, {environment: profile.environment}
    )
    session.add(
        StoredProfile(
            id=profile.profile_id,
            subject_id=subject_id,
            revision_id=revision_id,
            case_id=shared_ids.cases[key],
            host_id=shared_ids.hosts[profile.host.name],
            environment_id=shared_ids.environments[environment],
            started_at=profile.started_at,
            digest=prepared_profile.digest,
            summary=prepared_profile.summary,
            document=prepared_profile.document,
        )
    )
    return StoreResult.CREATED


def find_compressed_profile(session: Session, profile_id: UUID) -> bytes | None:
    """Return a profile as gzip-compressed JSON; None if there is none."""
    return session.scalar(select(StoredProfile.document).where(StoredProfile.id == profile_id))


def find_profile(session: Session, profile_id: UUID) -> Profile | None:
    """Return a profile with its stacks; None if there is none."""
    document = find_compressed_profile(session, profile_id)
    return None if document is None else parse_compressed_profile(document)


def parse_compressed_profile(document: bytes) -> Profile:
    """Return a stored profile, which is gzip-compressed JSON, as its model."""
    return Profile.model_validate_json(decompress_profile(document))


def decompress_profile(document: bytes) -> bytes:
    """Return the JSON of a stored profile."""
    return gzip.decompress(document)


def read_summary(session: Session, profile_id: UUID) -> ProfileWithoutStacks | None:
    """Return the summary of a profile, which lacks its stacks; None if there is no such profile."""
    packed_summary = session.scalar(select(StoredProfile.summary).where(StoredProfile.id == profile_id))
    return None if packed_summary is None else _unpack_summary(packed_summary)


def list_page(session: Session, profile_filter: ProfileFilter, limit: int, offset: int) -> ProfileList:
    """Return a page of profiles, the newest first."""
    conditions = profile_filter.list_conditions()
    total = session.scalar(select(func.count()).select_from(StoredProfile).where(*conditions)) or 0
    query = select(StoredProfile.summary).where(*conditions).order_by(*_NEWEST_FIRST).limit(limit).offset(offset)
    items = [build_list_entry(_unpack_summary(packed_summary)) for packed_summary in session.scalars(query)]
    return ProfileList(items=items, total=total, limit=limit, offset=offset)


def find_newest_profile_id(
    session: Session, profile_filter: ProfileFilter, environment: str | None = None
) -> UUID | None:
    """Return the id of the newest profile, preferably in the given environment; None if there is none."""
    query = select(StoredProfile.id).where(*profile_filter.list_conditions()).order_by(*_NEWEST_FIRST).limit(1)
    if environment is not None:
        same_environment = select(Environment.id).where(Environment.hash == environment)
        newest_there = session.scalar(query.where(StoredProfile.environment_id.in_(same_environment)))
        if newest_there is not None:
            return newest_there
    return session.scalar(query)


def list_profiled_cases(session: Session, commits: Iterable[str]) -> set[tuple[str, str]]:
    """Return the case and the commit of every profile of these commits."""
    rows = session.execute(
        select(Case.name, Revision.commit)
        .join_from(StoredProfile, Revision, StoredProfile.revision_id == Revision.id)
        .join(Case, StoredProfile.case_id == Case.id)
        .where(Revision.commit.in_(list(commits)))
        .distinct()
    )
    return {(name, commit) for name, commit in rows}


def thin_old_profiles(database: Database, before: datetime, subjects: Collection[str] = ()) -> tuple[int, int]:
    """Thin all profiles recorded before a time, of the given subjects or of all; return how many, and bytes freed."""
    count = freed_bytes = 0
    query = (
        select(StoredProfile.number, StoredProfile.document)
        .where(*_select_older(before, subjects), StoredProfile.thinned.is_(False))
        .limit(1)
    )
    while True:
        with database.reading() as session:
            row = session.execute(query).first()
        if row is None:
            return count, freed_bytes
        thinned_document = _compress_profile(_encode_profile(thin_profile(parse_compressed_profile(row.document))))
        change = (
            update(StoredProfile)
            .where(StoredProfile.number == row.number)
            .values(document=thinned_document, thinned=True)
        )
        with database.writing() as session:
            session.execute(change)
        count += 1
        freed_bytes += len(row.document) - len(thinned_document)


def delete_old_profiles(database: Database, before: datetime, subjects: Collection[str] = ()) -> tuple[int, int]:
    """Delete all profiles recorded before a time, of the given subjects or of all; return how many, and bytes freed."""
    with database.writing() as session:
        is_old = _select_older(before, subjects)
        count, freed_bytes = session.execute(_select_sizes(*is_old)).one()
        session.execute(delete(StoredProfile).where(*is_old))
    return count, freed_bytes


def count_old_profiles(
    database: Database, thin_before: datetime | None, delete_before: datetime | None, subjects: Collection[str] = ()
) -> tuple[int, int, int]:
    """Return how many profiles would be thinned and deleted, and the size of those to delete in bytes.

    Parameters
    ----------
    thin_before, delete_before
        Profiles recorded before these times are thinned or deleted; None if none are.
    """
    with database.reading() as session:
        n_deleted = n_thinned = freed_bytes = 0
        if delete_before:
            n_deleted, freed_bytes = session.execute(_select_sizes(*_select_older(delete_before, subjects))).one()
        if thin_before:
            conditions = [*_select_older(thin_before, subjects), StoredProfile.thinned.is_(False)]
            if delete_before:
                conditions.append(StoredProfile.started_at >= delete_before)  # the older ones are deleted
            n_thinned, _ = session.execute(_select_sizes(*conditions)).one()
    return n_thinned, n_deleted, freed_bytes


def _select_older(before: datetime, subjects: Collection[str]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for profiles recorded before a time, of the given subjects, or of all if none are given."""
    is_of_subjects = StoredProfile.subject_id.in_(select(Subject.id).where(Subject.name.in_(subjects)))
    return (StoredProfile.started_at < before, *([is_of_subjects] if subjects else []))


def _select_sizes(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Return the query for the number of profiles that satisfy the conditions, and their size in bytes."""
    size = func.length(StoredProfile.document) + func.length(StoredProfile.summary)
    return select(func.count(), func.coalesce(func.sum(size), 0)).where(*conditions)


def _encode_profile(profile: Profile) -> bytes:
    return profile.model_dump_json(exclude_defaults=True).encode()


def _compress_profile(text: bytes) -> bytes:
    """Compress a profile without a timestamp, so that equal profiles give equal bytes."""
    return gzip.compress(text, _COMPRESSION_LEVEL, mtime=0)


def _pack_summary(profile: Profile) -> bytes:
    return zlib.compress(summarise_profile(profile).model_dump_json(exclude_defaults=True).encode())


def _unpack_summary(data: bytes) -> ProfileWithoutStacks:
    return ProfileWithoutStacks.model_validate_json(zlib.decompress(data))
