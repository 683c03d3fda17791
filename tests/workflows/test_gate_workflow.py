"""The gate's workflow, run for real: act, git, a compiler, the sandbox and perf on this machine."""

import json
import shutil
from typing import Any

import pytest

from tests.workflows.act import PROGRAMS, TOOLS, Done, act
from tests.workflows.subject import Subject

pytestmark = [
    pytest.mark.workflows,
    pytest.mark.perf,
    pytest.mark.skipif(not (TOOLS / "act").exists(), reason="act is not installed; make test-workflows installs it"),
]
CALLER = """
name: faultwatch
on: pull_request
permissions: {}
jobs:
  gate:
    permissions: {contents: read, id-token: write}
    uses: ./.github/workflows/gate.yml
  after:
    needs: gate
    if: always()
    runs-on: self-hosted
    steps:
      - env: {VERDICT: "${{ needs.gate.outputs.verdict }}"}
        run: echo "$VERDICT" >"$KEPT/verdict"
"""
BY_ACTION = """
name: own
on: workflow_dispatch
jobs:
  own:
    runs-on: self-hosted
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1
        with: {ref: origin/change}
      - uses: ./.github/actions/gate
        with: {base: origin/before, venv: VENV}
"""


class Proposals(Subject):
    """The repository, with pull requests."""

    def propose(self, number: int) -> tuple[str, str]:
        """Make a branch before the commit of that number and a pull request with it; return base and head."""
        own = BY_ACTION.replace("VENV", str(PROGRAMS.parent))
        files = {".github/workflows/faultwatch.yml": CALLER, ".github/workflows/own.yml": own}
        base = self.adopt("before", self.commits[number - 2], files)
        self.git("checkout", "--quiet", "-B", "change")
        self.git("cherry-pick", self.commits[number - 1])
        return base, self.git("rev-parse", "HEAD")

    def run(self, number: int, *more: str, fork: bool = False) -> Done:
        base, head = self.propose(number)
        # The repository may itself be a fork of another one.
        whose = "stranger/copy-service" if fork else "example/copy-service"
        pull_request: dict[str, Any] = {
            "number": 7,
            "title": '"; touch /tmp/owned; "',
            "base": {"sha": base, "ref": "main"},
            "head": {"sha": head, "ref": "$(id)", "repo": {"full_name": whose, "fork": True}},
        }
        event = self.folder / "event.json"
        event.write_text(json.dumps({"pull_request": pull_request}))
        return act(
            self.folder,
            self.path,
            "pull_request",
            "faultwatch.yml",
            *("-e", str(event), *more),
            FAULTWATCH_HOME=str(self.folder / "home"),
        )


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Proposals:
    return Proposals(tmp_path_factory.mktemp("gate"))


@pytest.fixture(autouse=True)
def _nothing_kept(subject: Proposals) -> None:
    shutil.rmtree(subject.folder / "kept", ignore_errors=True)


def report(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((done.kept / "faultwatch-gate.json").read_text())
    return found


def minor_faults(done: Done) -> dict[str, Any]:
    (case,) = report(done)["cases"]
    return next(one for one in case["comparison"]["metrics"] if one["metric"] == "minor-faults")


def assert_verdict(done: Done, verdict: str) -> None:
    assert done.outputs["verdict"] == verdict, done.log
    # act ends where a job fails; GitHub goes on with those that always run.
    if done.returncode == 0:
        assert (done.kept / "verdict").read_text().strip() == verdict
    assert report(done)["verdict"] == verdict


def test_one_page_more_fails_the_pull_request(subject: Proposals) -> None:
    done = subject.run(10)
    assert_verdict(done, "regressed")
    assert done.returncode != 0
    assert minor_faults(done)["change"] == 1
    assert "Worse: +1\u00a0fault" in done.summary
    assert "**worse**, budget 0" in done.summary


def test_an_improvement_passes_and_is_told(subject: Proposals) -> None:
    done = subject.run(17)
    assert_verdict(done, "improved")
    assert done.returncode == 0
    assert minor_faults(done)["change"] == -49_152
    assert "Better: −49,152\u00a0faults" in done.summary


def test_without_a_change_it_passes(subject: Proposals) -> None:
    done = subject.run(11)
    assert_verdict(done, "same")
    assert done.returncode == 0
    # A comment moves the lines in the debug information, so the bytes are not the same.
    assert "No change in faults in 1 case." in done.summary


def test_a_head_that_does_not_build_fails_with_its_log(subject: Proposals) -> None:
    done = subject.run(14)
    assert_verdict(done, "failed")
    assert done.returncode != 0
    assert "The head does not build" in done.summary
    assert "error:" in done.summary


def test_a_fork_is_measured_confined_and_without_the_service(subject: Proposals) -> None:
    # Nothing listens there: who asked it would fail.
    done = subject.run(11, "--var", "FAULTWATCH_URL=http://127.0.0.1:9", fork=True)
    assert_verdict(done, "same")
    (case,) = report(done)["cases"]
    assert case["head"]["environment"]["settings"]["process.sandbox"] == "bubblewrap"


def test_the_composite_action_does_the_same(subject: Proposals) -> None:
    subject.propose(10)
    home = str(subject.folder / "home")
    done = act(subject.folder, subject.path, "workflow_dispatch", "own.yml", FAULTWATCH_HOME=home)
    assert done.returncode != 0
    assert done.outputs["verdict"] == "regressed", done.log
    assert report(done)["verdict"] == "regressed"
