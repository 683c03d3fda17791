"""A name means a tag before a branch, and a branch before one of the remote, however many subjects have it."""

from __future__ import annotations

import pytest

from runner.contract import Ref
from service.store import shared_rows
from service.store.engine.database import Database
from service.store.revisions import refs, revisions
from tests.service import reports

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
SUBJECTS = [f"subject-{number:02}" for number in range(20)]


def test_a_tag_comes_before_the_branches_of_all_subjects(database: Database) -> None:
    with database.writing() as session:
        for name, subject_id in shared_rows.ensure_subjects(session, SUBJECTS).items():
            revisions.add_commits(session, subject_id, [reports.revision(1)])
            sent = [Ref(kind="branch", name=f"{remote}main", commit=reports.commit(1)) for remote in ("origin/", "")]
            if name == SUBJECTS[-1]:
                sent += [Ref(kind="tag", name=one, commit=reports.commit(1)) for one in ("main", "origin/other")]
            elif name == SUBJECTS[0]:
                sent.append(Ref(kind="branch", name="origin/other", commit=reports.commit(1)))
            refs.store_refs(session, subject_id, sent)
    with database.reading() as session:
        assert [found.subject for found in refs.find_commits(session, "main")] == [SUBJECTS[-1]]
        assert [found.subject for found in refs.find_commits(session, "main", SUBJECTS[3])] == [SUBJECTS[3]]
        assert [found.subject for found in refs.find_commits(session, "other")] == [SUBJECTS[0]]
        assert [found.subject for found in refs.find_commits(session, "origin/other")] == [SUBJECTS[-1]]
