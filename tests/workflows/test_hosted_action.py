"""The action for GitHub's own machines, run for real on this one: act, git, a compiler, the sandbox and perf."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from service.forges.github.job_comment import JOB_AUTHOR
from tests.service.forges.github import stand_in
from tests.workflows.act import ROOT, TOOLS, Done, act, copy_checkout
from tests.workflows.subject import Subject

pytestmark = [
    pytest.mark.workflows,
    pytest.mark.perf,
    pytest.mark.timeout(900),  # each job installs Faultwatch, as it does there
    pytest.mark.skipif(not (TOOLS / "act").exists(), reason="act is not installed; make test-workflows installs it"),
]
REPOSITORY = "example/copy-service"
ACTION = "example/faultwatch@v1"
TOKEN = "a token of the job"


class HostedSubject(Subject):
    """The repository, whose pull requests GitHub's machines measure."""

    def propose(self, number: int) -> tuple[str, str]:
        """Make a branch before the commit of that number and a pull request with it; return base and head."""
        templates = ROOT / "runner" / "ci" / "templates"
        files = {
            f".github/workflows/{name}.yml": (templates / f"{template}.yml")
            .read_text(encoding="utf-8")
            .replace("@ACTION@", ACTION)
            .replace("@WORKLOAD@", "workload.toml")
            for name, template in (
                ("faultwatch", "github-hosted"),
                ("faultwatch-comment", "github-hosted-comment"),
            )
        }
        text = files[".github/workflows/faultwatch.yml"]
        # What init leaves out of a repository without submodules, whose build reads no other folders.
        start, end = text.index("      # @SUBMODULES@"), text.index("# @END@") + len("# @END@\n")
        text = text[:start] + text[end:]
        start, end = (
            text.index("          # @SUBMODULES@"),
            text.index("          # @END@\n") + len("          # @END@\n"),
        )
        text = text[:start] + text[end:]
        files[".github/workflows/faultwatch.yml"] = text[: text.index("          # Folders outside")]
        base = self.adopt("before", self.commits[number - 2], files)
        self.git("checkout", "--quiet", "-B", "change")
        self.git("cherry-pick", self.commits[number - 1])
        return base, self.git("rev-parse", "HEAD")

    def run(self, hub: stand_in.GitHub, event: str, workflow: str, payload: dict[str, Any]) -> Done:
        """Run a workflow for an event."""
        file = self.folder / "event.json"
        file.write_text(json.dumps(payload))
        action = ACTION.partition("@")
        return act(
            self.folder,
            self.path,
            event,
            workflow,
            *("-P", "ubuntu-latest=-self-hosted", "-e", str(file), "-s", f"GITHUB_TOKEN={TOKEN}"),
            *("--local-repository", f"{''.join(action)}={copy_checkout(self.folder)}"),
            GITHUB_API_URL=hub.url,
        )


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> HostedSubject:
    return HostedSubject(tmp_path_factory.mktemp("hosted"))


@pytest.fixture
def hub() -> Iterator[stand_in.GitHub]:
    """GitHub, which knows the token of the job."""
    hub = stand_in.GitHub(REPOSITORY, 7, "", author={"login": JOB_AUTHOR, "type": "Bot", "id": 41})
    hub.tokens.add(TOKEN)
    with stand_in.running(hub):
        yield hub


@pytest.fixture(autouse=True)
def _nothing_kept(subject: HostedSubject) -> None:
    shutil.rmtree(subject.folder / "kept", ignore_errors=True)


def describe_pull_request(base: str, head: str, repository: str = REPOSITORY) -> dict[str, Any]:
    return {
        "number": 7,
        "title": '"; touch /tmp/owned; "',
        "base": {"sha": base, "ref": "main"},
        "head": {"sha": head, "ref": "$(id)", "repo": {"full_name": repository}},
    }


def list_bodies(hub: stand_in.GitHub) -> list[str]:
    return [comment["body"] for comment in hub.comments.values()]


def test_one_page_more_fails_the_job_and_is_said_in_one_comment(subject: HostedSubject, hub: stand_in.GitHub) -> None:
    base, hub.head = subject.propose(10)
    payload = {"pull_request": describe_pull_request(base, hub.head)}
    done = subject.run(hub, "pull_request", "faultwatch.yml", payload)
    assert done.returncode != 0
    assert done.outputs["verdict"] == "regressed", done.log
    (body,) = list_bodies(hub)
    assert body.startswith("**Worse: +1\u00a0fault")
    assert "Worse: +1\u00a0fault" in done.summary


def test_a_forks_job_writes_nothing_and_the_second_workflow_does(subject: HostedSubject, hub: stand_in.GitHub) -> None:
    base, hub.head = subject.propose(17)
    hub.label = "stranger:change"
    payload = {"pull_request": describe_pull_request(base, hub.head, "stranger/copy-service")}
    done = subject.run(hub, "pull_request", "faultwatch.yml", payload)
    assert (done.returncode, done.outputs["verdict"]) == (0, "improved"), done.log
    assert not hub.comments
    run = {
        "id": 1,
        "event": "pull_request",
        "head_sha": hub.head,
        "head_branch": "change",
        "head_repository": {"full_name": "stranger/copy-service", "owner": {"login": "stranger"}},
    }
    done = subject.run(hub, "workflow_run", "faultwatch-comment.yml", {"action": "completed", "workflow_run": run})
    assert done.returncode == 0, done.log
    (body,) = list_bodies(hub)
    assert body.startswith("**Better: \u221249,152\u00a0faults")
