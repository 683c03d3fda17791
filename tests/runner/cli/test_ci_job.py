from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.ci.system import CiJob
from runner.cli.ci_job import detect_ci_job
from runner.contract.gate import ForgeKind, GateReport

ACTIONS = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_REPOSITORY": "octo-org/copies",
    "GITHUB_SERVER_URL": "https://forge.example.org",
    "GITHUB_RUN_ID": "4711",
    "GITHUB_RUN_NUMBER": "12",
    "GITHUB_REF": "refs/pull/7/merge",
}
GITLAB = {
    "GITLAB_CI": "true",
    "CI_PROJECT_PATH": "ada/copies",
    "CI_MERGE_REQUEST_PROJECT_PATH": "group/sub/copies",
    "CI_MERGE_REQUEST_IID": "7",
    "CI_JOB_URL": "https://lab.example.org/ada/copies/-/jobs/3",
}
QUEUE = {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": f"refs/heads/gh-readonly-queue/release/1/pr-7-{'a' * 40}"}
RUNS = "https://forge.example.org/octo-org/copies/actions/runs"


@pytest.mark.parametrize(
    ("environment", "job"),
    [
        ({}, CiJob()),
        (ACTIONS, CiJob(ForgeKind.GITHUB, "octo-org/copies", 7, log_url=f"{RUNS}/4711")),
        (ACTIONS | QUEUE, CiJob(ForgeKind.GITHUB, "octo-org/copies", 7, merge_group=True, log_url=f"{RUNS}/4711")),
        (
            ACTIONS | {"GITHUB_REF": "refs/heads/main"},
            CiJob(ForgeKind.GITHUB, "octo-org/copies", log_url=f"{RUNS}/4711"),
        ),
        # A branch of this name outside of a queue is one that somebody has pushed.
        (
            ACTIONS | QUEUE | {"GITHUB_EVENT_NAME": "push"},
            CiJob(ForgeKind.GITHUB, "octo-org/copies", log_url=f"{RUNS}/4711"),
        ),
        (
            ACTIONS | {"FORGEJO_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/head"},
            CiJob(ForgeKind.FORGEJO, "octo-org/copies", 7, log_url=f"{RUNS}/12"),
        ),
        (ACTIONS | {"GITEA_ACTIONS": "true"}, CiJob(ForgeKind.FORGEJO, "octo-org/copies", 7, log_url=f"{RUNS}/12")),
        (GITLAB, CiJob(ForgeKind.GITLAB, "group/sub/copies", 7, log_url="https://lab.example.org/ada/copies/-/jobs/3")),
        (GITLAB | {"CI_MERGE_REQUEST_IID": ""}, CiJob()),
    ],
    ids=["none", "github", "queue", "branch", "no-queue", "forgejo", "gitea", "gitlab", "gitlab-branch"],
)
def test_the_job_is_known_by_its_variables(environment: dict[str, str], job: CiJob) -> None:
    assert detect_ci_job(environment) == job


@given(
    st.fixed_dictionaries(
        {"CI": st.just("true")},
        optional={name: st.text(max_size=200) | st.just(value) for name, value in (ACTIONS | GITLAB | QUEUE).items()},
    )
)
def test_any_variables_make_a_report_that_can_be_sent(environment: dict[str, Any]) -> None:
    job = detect_ci_job(environment)
    GateReport(
        forge=job.forge,
        repository=job.repository,
        pull_request=job.pull_request,
        merge_group=job.merge_group,
        base="a" * 40,
        head="b" * 40,
        log_url=job.log_url,
    )
