from __future__ import annotations

import reports
from apiclient import Api
from reports import JEMALLOC, commit, plan_request


def test_what_was_stored_is_left_out(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4)
    api.send(reports.report(1, 100), reports.failed_build(2))
    plan = api.plan(plan_request(1, 2, 3, 4))
    assert ([job.revision for job in plan.jobs], plan.stored) == ([commit(3), commit(4)], 2)


def test_runs_of_others_do_not_count(api: Api) -> None:
    api.put_revisions(1)
    api.send(
        reports.report(1, 1, case=reports.OTHER_CASE),
        reports.report(1, 1, host={"name": "other"}),
        reports.report(1, 1, subject="other"),
    )
    assert api.plan(plan_request(1)).stored == 0


def test_a_new_environment_starts_with_an_anchor(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    api.send(reports.report(1, 100), reports.report(2, 100))
    plan = api.plan(plan_request(3, environment=JEMALLOC))
    assert [(job.revision, job.reason) for job in plan.jobs] == [(commit(2), "anchor"), (commit(3), "missing")]


def test_commits_that_were_not_sent_are_named(api: Api) -> None:
    api.put_revisions(1)
    request = plan_request(1, 2).model_dump(mode="json")
    answer = api.client.post("/api/v1/plans", json=request)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json["errors"]] == ["revisions.1"]
    assert "Send the commits first" in answer.json["detail"]
