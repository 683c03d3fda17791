from __future__ import annotations

from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import commit


def listed(api: Api) -> list[str]:
    """Return the commits, oldest first."""
    return [revision["commit"] for revision in reversed(api.get("/subjects/demo/revisions")["items"])]


def test_a_history_may_be_sent_again_and_in_parts(api: Api) -> None:
    assert api.put_revisions(3, 4).json == {"subject": "demo", "revisions": 2}
    assert api.put_revisions(2, 1, 3).json == {"subject": "demo", "revisions": 4}
    assert api.put_revisions(1, 2, 3, 4).json == {"subject": "demo", "revisions": 4}
    assert listed(api) == [commit(1), commit(2), commit(3), commit(4)]


def test_a_commit_is_read_back_as_it_was_sent(api: Api) -> None:
    api.put_revisions(2)
    (revision,) = api.get("/subjects/demo/revisions")["items"]
    assert revision == reports.revision(2).model_dump(mode="json") | {"patch": ""}


def test_parents_that_a_shallow_clone_did_not_have_are_taken_over(api: Api) -> None:
    late = reports.revision(1, committed_at="2030-01-01T00:00:00Z")
    cut_off = reports.revision(2, parents=[])
    for sent in ([late, cut_off], [reports.revision(2)]):
        document = {"revisions": [revision.model_dump(mode="json") for revision in sent]}
        assert api.client.put("/api/v1/subjects/demo/revisions", json=document).status_code == 200
    assert listed(api) == [commit(1), commit(2)]


def test_subjects_have_histories_of_their_own(api: Api) -> None:
    api.put_revisions(1, 2)
    api.send(reports.report(3, 100, subject="other"))
    assert listed(api) == [commit(1), commit(2)]
    assert api.get("/subjects/other/revisions")["total"] == 1


def test_a_page_of_a_history_starts_with_the_newest_commits(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    page = api.get("/subjects/demo/revisions", limit=1, offset=1)
    assert [one["commit"] for one in page["items"]] == [commit(2)]
    assert (page["total"], page["limit"], page["offset"]) == (3, 1, 1)
