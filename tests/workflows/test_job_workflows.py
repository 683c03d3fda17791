"""The workflows that carry out what the service orders, run for real: act, git, a compiler, the sandbox and perf."""

import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.profile.permissions import detect_recording_permissions
from service.forges.github.workflows import build_push_inputs
from tests.runner.commands import Proxy, served
from tests.workflows.act import TOOLS, Done, act
from tests.workflows.subject import Subject

pytestmark = [
    pytest.mark.workflows,
    pytest.mark.perf,
    pytest.mark.skipif(not (TOOLS / "act").exists(), reason="act is not installed; make test-workflows installs it"),
]
CASE = "copy_service[mib=8,operations=25]"
NO_REUSE, LAST_THAT_IS_MEASURED = 8, 13
"""The commit that gives the buffer back between requests, and one after which the program does not build."""
COST = 49_152
"""Faults: 8 MiB of pages, for all requests but the first."""


class Workshop:
    """The repository, the service that orders work on it, and the runner that carries it out."""

    def __init__(self, folder: Path, service: Proxy) -> None:
        self.subject = Subject(folder)
        self.service = service
        self.tip = self.subject.adopt("main", self.subject.commits[LAST_THAT_IS_MEASURED - 1])

    def order(self, kind: str, **question: Any) -> str:
        """Order a job as a person would; return its number."""
        asked = {"kind": kind, "subject": "copy-service", "case": CASE, "workload": "workload.toml", **question}
        job = self.service.ask("/jobs", {"question": asked, "author": "ann"})
        assert job["state"] == "queued"
        return str(job["id"])

    def job(self, number: str) -> dict[str, Any]:
        return self.service.ask(f"/jobs/{number}")

    def run(self, workflow: str, inputs: Mapping[str, str]) -> Done:
        """Start a workflow by hand, or as the service starts it."""
        return act(
            self.subject.folder,
            self.subject.path,
            "workflow_dispatch",
            workflow,
            *(part for name, value in inputs.items() for part in ("--input", f"{name}={value}")),
            FAULTWATCH_HOME=str(self.subject.folder / "home"),
            FAULTWATCH_HOST="bench",
        )

    def carry_out(self, workflow: str, number: str, **inputs: str) -> Done:
        """Start a workflow with the inputs that the service gives it."""
        given = {"job": number, "revision": self.tip, "service": self.service.url}
        return self.run(workflow, {**given, "runner": '["self-hosted", "bench"]', **inputs})


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    folder = tmp_path_factory.mktemp("jobs")
    with served(folder / "service") as service:
        yield Workshop(folder, service)


def page(workshop: Workshop, path: str) -> str:
    with urllib.request.urlopen(workshop.service.service + path, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def test_a_bisect_finds_the_commit(workshop: Workshop) -> None:
    good = workshop.subject.commits[3]
    number = workshop.order("bisect", good=good, bad=workshop.tip, min_difference=100)
    done = workshop.carry_out("bisect.yml", number)
    assert done.returncode == 0, done.log
    job = workshop.job(number)
    culprit = workshop.subject.commits[NO_REUSE - 1]
    assert (job["state"], job["host"]) == ("done", "bench")
    assert job["sentence"] == f"{culprit[:10]} moves the metric."
    (found,) = job["result"]["answer"]["culprits"]
    assert (found["commit"], found["after"] - found["before"]) == (culprit, COST)
    assert found["proof"]["state"] == "stands"
    # What it says is in the log of the workflow, which the page of the job names.
    assert f"job {number} is done" in done.log
    assert job["log_url"].endswith("/example/copy-service/actions/runs/1")


def test_a_range_in_which_nothing_moves_says_so(workshop: Workshop) -> None:
    good = workshop.subject.commits[10]
    number = workshop.order("bisect", good=good, bad=workshop.tip)
    done = workshop.carry_out("bisect.yml", number)
    assert done.returncode == 0, done.log
    said = workshop.job(number)["sentence"].replace("\xa0", " ")
    assert re.fullmatch(r"The two ends of the range do not differ: good ([\d,]+) faults, bad \1 faults\.", said)


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [("no-such-commit", "HEAD", "has no commit 'no-such-commit'"), ("HEAD", "HEAD~3", "put the older revision first")],
)
def test_a_bad_range_fails_the_workflow_and_the_job_says_why(
    workshop: Workshop, good: str, bad: str, said: str
) -> None:
    number = workshop.order("bisect", good=good, bad=bad)
    done = workshop.carry_out("bisect.yml", number)
    assert done.returncode != 0
    assert said in done.log
    job = workshop.job(number)
    assert job["state"] == "failed"
    assert said in job["sentence"]


def test_a_profile_is_stored_with_its_flame_graph_and_its_diagnosis(workshop: Workshop) -> None:
    parent = workshop.subject.commits[NO_REUSE - 2]
    culprit = workshop.subject.commits[NO_REUSE - 1]
    number = workshop.order("profile", revision=culprit, against=parent)
    done = workshop.carry_out("profile.yml", number)
    assert done.returncode == 0, done.log
    job = workshop.job(number)
    assert job["state"] == "done"
    before, after = job["result"]["profiles"]
    stored = json.loads(page(workshop, f"/api/v1/profiles/{after}"))
    assert stored["revision"]["commit"] == culprit
    assert stored["change"]["changed_lines"], "the page says what the commit has to do with the difference"
    assert stored["faults"]["stacks"]
    assert stored["on_cpu"]["stacks"]
    folded = page(workshop, f"/api/v1/profiles/{after}/faults.folded").splitlines()
    # The stacks of a sample stand for all faults: those of the copy are the requests' that come after the first.
    in_answer = sum(int(line.rpartition(" ")[2]) for line in folded if ";answer;" in line)
    assert in_answer == pytest.approx(COST, rel=0.2)
    shown = page(workshop, f"/profiles/{after}?before={before}")
    if detect_recording_permissions().tracepoints:
        assert '<span class="badge">returned-memory</span>' in shown
    else:  # The calls are only counted, and the page says what would tell more.
        assert "madvise 25" in shown
        assert "mount -t tracefs" in shown


def test_a_remedy_is_measured_beside_the_present_state(workshop: Workshop) -> None:
    number = workshop.order("remedy", revision=workshop.tip, settings={"operations": "50"})
    done = workshop.carry_out("profile.yml", number)
    assert done.returncode == 0, done.log
    job = workshop.job(number)
    before, after = job["result"]["metrics"]["minor-faults"]
    # Each of 25 requests more touches the buffer of the last one again.
    assert after - before == 25 * 2048
    assert len(job["runs"]) == 2


def test_an_ordered_measurement_is_stored(workshop: Workshop) -> None:
    number = workshop.order("measure", revision=workshop.tip)
    done = workshop.carry_out("measure.yml", number)
    assert done.returncode == 0, done.log
    job = workshop.job(number)
    assert job["state"] == "done"
    run = workshop.service.ask(f"/runs/{job['result']['run_id']}")
    assert (run["host"]["name"], run["revision"]["commit"], run["outcome"]) == ("bench", workshop.tip, "measured")
    assert run["environment"]["settings"]["process.sandbox"] == "bubblewrap"


def test_a_revision_that_is_pushed_is_measured_stored_and_kept(workshop: Workshop) -> None:
    commit = workshop.subject.adopt("pushed", workshop.subject.commits[0])
    done = workshop.run("measure.yml", build_push_inputs(commit, workshop.service.url))
    assert done.returncode == 0, done.log
    assert done.outputs["verdict"] == "measured"
    (report,) = json.loads((done.kept / "faultwatch-measure.json").read_text())
    run = workshop.service.ask(f"/runs/{report['run_id']}")
    assert run["samples"] == report["samples"]
    assert run["revision"]["commit"] == commit


def test_a_revision_that_does_not_build_fails_and_is_stored_as_failed(workshop: Workshop) -> None:
    commit = workshop.subject.adopt("broken", workshop.subject.commits[LAST_THAT_IS_MEASURED])
    done = workshop.run("measure.yml", build_push_inputs(commit, workshop.service.url))
    assert done.returncode != 0
    assert done.outputs["verdict"] == "failed"
    (report,) = json.loads((done.kept / "faultwatch-measure.json").read_text())
    assert "error:" in report["failure"]["log"]
    assert workshop.service.ask(f"/runs/{report['run_id']}")["outcome"] == "failed"


def test_a_job_that_has_ended_is_not_carried_out_again(workshop: Workshop) -> None:
    number = workshop.order("measure", revision=workshop.tip, samples=3)
    workshop.service.ask(f"/jobs/{number}/cancel", {"author": "ann", "reason": "not needed"})
    done = workshop.carry_out("measure.yml", number)
    assert done.returncode == 0, done.log
    assert f"job {number} is cancelled" in done.log


@pytest.mark.parametrize("workflow", ["bisect.yml", "profile.yml", "measure.yml"])
@pytest.mark.parametrize("name", ["job", "revision", "service", "runner", "workload"])
def test_shell_characters_in_an_input_do_nothing(workshop: Workshop, tmp_path: Path, workflow: str, name: str) -> None:
    if name == "workload" and workflow != "measure.yml":
        pytest.skip("has no such input")
    owned = tmp_path / "owned"
    inputs = {"revision": workshop.tip, "service": workshop.service.url}
    if workflow != "measure.yml":
        inputs["job"] = "999"
    done = workshop.run(workflow, inputs | {name: f'"; touch {owned}; $(touch {owned}) `touch {owned}` "'})
    assert "Job succeeded" not in done.log
    assert not owned.exists(), done.log


@pytest.mark.parametrize("workflow", ["bisect.yml", "profile.yml", "measure.yml"])
def test_without_a_service_no_job_runs(workshop: Workshop, workflow: str) -> None:
    done = workshop.run(workflow, {"job": "1", "revision": workshop.tip})
    assert done.returncode == 0, done.log
    assert "Success" not in done.log


def test_no_job_runs_where_no_runner_has_the_label(workshop: Workshop) -> None:
    number = workshop.order("measure", revision=workshop.subject.commits[0])
    done = workshop.carry_out("measure.yml", number, runner='["absent"]')
    assert "Skipping unsupported platform" in done.log
    assert workshop.job(number)["state"] == "queued"
