"""The workflow for a history without a service, as the documents show it, run for real on this machine."""

import json
import re
import shutil

import pytest

from tests.workflows.act import ROOT, TOOLS, Done, act, copy_checkout
from tests.workflows.subject import Subject

pytestmark = [
    pytest.mark.workflows,
    pytest.mark.perf,
    pytest.mark.timeout(900),  # each job installs Faultwatch, as it does there
    pytest.mark.skipif(not (TOOLS / "act").exists(), reason="act is not installed; make test-workflows installs it"),
]
STORE = "faultwatch-data"
ACTION = "example/faultwatch"


def read_workflow() -> str:
    """Return the workflow of the documents, with the action that it uses in the place of the placeholder."""
    document = (ROOT / "docs/how-to/hosted.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(name: faultwatch-history\n.*?)```", document, re.DOTALL)
    assert "OWNER/faultwatch@v1" in text
    return text.replace("OWNER/faultwatch", ACTION)


def push(subject: Subject, before: str, number: int) -> Done:
    """Run the workflow for a push that moved the main branch."""
    event = subject.folder / f"push-{number}.json"
    event.write_text(
        json.dumps({"before": before, "after": subject.git("rev-parse", "HEAD"), "ref": "refs/heads/main"})
    )
    shutil.rmtree(subject.folder / "kept", ignore_errors=True)
    remote = "https://x-access-token:a token@github.com/example/copy-service"
    return act(
        subject.folder,
        subject.path,
        "push",
        "faultwatch-history.yml",
        *("-P", "ubuntu-24.04=-self-hosted", "-P", "ubuntu-latest=-self-hosted", "-e", str(event)),
        *("-s", "GITHUB_TOKEN=a token", "--local-repository", f"{ACTION}@v1={copy_checkout(subject.folder)}"),
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0=f"url.{subject.path}.insteadOf",
        GIT_CONFIG_VALUE_0=remote,
    )


def test_two_pushes_are_kept_in_the_branch_and_shown_as_a_site(tmp_path_factory: pytest.TempPathFactory) -> None:
    subject = Subject(tmp_path_factory.mktemp("history"))
    workflow = {".github/workflows/faultwatch-history.yml": read_workflow()}
    subject.adopt("main", subject.commits[9], workflow)  # the tenth commit touches one page more
    before = subject.git("rev-parse", "HEAD~3")
    first = push(subject, before, 1)
    assert first.returncode == 0, first.log
    runs = subject.git("ls-tree", "-r", "--name-only", STORE).splitlines()
    assert (subject.folder / "kept/site/index.html").exists()
    assert (subject.folder / "kept/deployed").exists()

    before = subject.git("rev-parse", "HEAD")
    subject.git("commit", "--quiet", "--allow-empty", "--message", "Say more in the documents")
    second = push(subject, before, 2)
    assert second.returncode == 0, second.log
    later_runs = subject.git("ls-tree", "-r", "--name-only", STORE).splitlines()
    assert set(runs) < set(later_runs), "a push adds to what the earlier ones measured"
    assert subject.git("rev-list", "--count", STORE) > "1"
    pages = "".join(path.read_text() for path in (subject.folder / "kept/site").rglob("*.html"))
    assert "Say more in the documents" in pages
    assert "+1" in pages
