"""A name means a tag before a branch, and a branch before one of the remote, however many subjects have it."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from runner.contract import Ref, Revision
from service.store import shared_rows
from service.store.engine.database import Database
from service.store.models import Series
from service.store.revisions import named_commits, refs, revisions
from service.store.series.trend_points import arrange_trends
from tests.service import reports
from tests.service.apiclient import Api

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
        assert [found.subject for found in named_commits.find_commits(session, "main")] == [SUBJECTS[-1]]
        assert [found.subject for found in named_commits.find_commits(session, "main", SUBJECTS[3])] == [SUBJECTS[3]]
        assert [found.subject for found in named_commits.find_commits(session, "other")] == [SUBJECTS[0]]
        assert [found.subject for found in named_commits.find_commits(session, "origin/other")] == [SUBJECTS[-1]]


def test_a_ref_that_moves_out_of_what_is_known_keeps_its_branch_alive(api: Api, database: Database) -> None:
    def move(work: int, *sent: Revision) -> set[int]:
        """Send where the branches are, and commits; return the commits on the paths of the series."""
        told = {
            "revisions": [revision.model_dump(mode="json") for revision in sent],
            "refs": [
                {"kind": "branch", "name": name, "commit": reports.commit(number)}
                for name, number in (("main", 3), ("work", work))
            ],
        }
        assert api.client.put("/api/v1/subjects/demo/revisions", json=told).status_code == 200
        with database.reading() as session:
            trends = arrange_trends(session, list(session.scalars(select(Series.id))))
            assert not session.scalar(select(Series.id).where(Series.version != Series.judged_version).limit(1))
        paths = [sequence for trend in trends.values() for sequence in (trend.path, *trend.points_beside)]
        return {int(point.revision, 16) for path in paths for point in path}

    api.put_revisions(1, 2, 3)
    side = [reports.revision(11, parents=[2]), reports.revision(12, parents=[11])]
    move(12, *side)
    api.send(*(reports.report(revision_number(one), 900, 900, revision=one) for one in side))
    api.send(*(reports.report(number, 500, 500, at=number + 50) for number in (1, 2, 3)))
    alive = {1, 2, 3, 11, 12}
    assert move(12) == alive
    assert move(20) == alive, "a commit that was not sent may descend from the twelfth"
    assert move(21, reports.revision(21, parents=[])) == alive, "and so may the oldest commit of a shallow clone"
    assert move(22, reports.revision(22, parents=[21, 2])) == alive
    assert move(22, reports.revision(21, parents=[12])) == alive, "it does, as a deeper clone shows"
    assert move(30, reports.revision(30, parents=[2])) == {1, 2, 3}, "this one does not"


def revision_number(revision: Revision) -> int:
    return int(revision.commit, 16)


def test_a_date_names_the_newest_commit_that_was_measured(api: Api, database: Database) -> None:
    api.put_revisions(1, 2, 3)
    day = f"{reports.revision(3).committed_at:%Y-%m-%d}"

    def find() -> list[str]:
        with database.reading() as session:
            return [found.commit for found in named_commits.find_commits(session, day)]

    assert find() == [reports.commit(3)], "nothing was measured"
    api.send(reports.report(2, 500))
    assert find() == [reports.commit(2)]
