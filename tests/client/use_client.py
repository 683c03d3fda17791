"""Uses the generated client as a stranger's program would; runs in the environment of the generator.

Arguments: the folder of the client, the address of the service, a token. Prints what it read as JSON.
"""

import json
import sys


def main() -> None:
    folder, url, token = sys.argv[1:]
    sys.path.insert(0, folder)
    from faultwatch_client import AuthenticatedClient
    from faultwatch_client.api.drifts import list_drifts
    from faultwatch_client.api.jobs import get_job, order_job
    from faultwatch_client.api.series import get_series
    from faultwatch_client.models import Backend, BisectQuestion, Job, JobOrder, Problem

    client = AuthenticatedClient(base_url=url, token=token)
    (drift,) = list_drifts.sync(client=client, subject="parser").items
    series = get_series.sync(drift.series_id, client=client)
    question = BisectQuestion(
        subject=drift.subject,
        case=drift.case,
        metric=drift.metric,
        good=drift.previous_revision,
        bad=drift.revision,
        host=drift.host,
        kind="bisect",
    )
    order = JobOrder(question=question, backend=Backend.CALLER)
    answers = [order_job.sync_detailed(client=client, body=order) for _ in range(2)]
    job = get_job.sync(answers[0].parsed.id, client=client)
    missing = get_job.sync(10_000, client=client)
    refused = list_drifts.sync_detailed(client=AuthenticatedClient(base_url=url, token="wrong"))
    assert isinstance(job, Job)
    assert isinstance(missing, Problem)
    print(
        json.dumps(
            {
                "drift": drift.to_dict(),
                "points": len(series.points),
                "orders": [answer.status_code for answer in answers],
                "job": job.to_dict(),
                "missing": missing.to_dict(),
                "refused": refused.status_code,
            }
        )
    )


if __name__ == "__main__":
    main()
