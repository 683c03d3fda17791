"""The workflows as the linters read them, and what they promise about strangers."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv" / "bin"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
GATE_PAGE = ROOT / "docs" / "how-to" / "gate.md"
ACTIONS = [ROOT / "action.yml", *sorted((ROOT / ".github" / "actions").glob("*/action.yml"))]


def tool(name: str) -> str:
    if not (TOOLS / name).exists():
        pytest.skip(f"{name} is not installed; make test-workflows installs it")
    return str(TOOLS / name)


def steps(file: Path) -> list[dict[str, Any]]:
    """Return the steps of all jobs of a workflow, or those of an action."""
    document = yaml.safe_load(file.read_text())
    if "runs" in document:
        return list(document["runs"]["steps"])
    return [step for job in document["jobs"].values() for step in job.get("steps", ())]


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_and_shellcheck_find_nothing() -> None:
    shellcheck = shutil.which("shellcheck") or pytest.skip("shellcheck is not installed")
    run(tool("actionlint"), "-shellcheck", str(shellcheck), *map(str, WORKFLOWS))


def test_shellcheck_finds_nothing_in_the_actions(tmp_path: Path) -> None:
    shellcheck = shutil.which("shellcheck") or pytest.skip("shellcheck is not installed")
    scripts = []
    for action in ACTIONS:
        for step in steps(action):
            if "run" in step:
                scripts.append(tmp_path / f"{len(scripts)}-{action.parent.name}.bash")
                scripts[-1].write_text(f"#!/bin/bash\n{step['run']}")
    assert len(scripts) >= len(ACTIONS)
    run(str(shellcheck), *map(str, scripts), *map(str, (ROOT / "setup/hosted").iterdir()))


def test_zizmor_as_an_auditor_finds_nothing() -> None:
    audited = (ROOT / ".github", ROOT / "action.yml")
    run(tool("zizmor"), "--offline", "--no-progress", "--persona=auditor", *map(str, audited))


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: os.path.relpath(file, ROOT))
def test_no_expression_reaches_a_shell_and_every_action_is_pinned(file: Path) -> None:
    found = steps(file)
    assert found
    for step in found:
        assert "${{" not in step.get("run", "")
        used = step.get("uses")
        assert used is None or used.startswith("./") or re.search(r"@[0-9a-f]{40}$", used)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_no_workflow_reads_a_secret_or_runs_strangers_code_with_rights(file: Path) -> None:
    text = file.read_text()
    assert "secrets." not in text
    assert "pull_request_target" not in text
    if file.name != RELEASE.name:
        assert ": write" not in text.replace("id-token: write", "")


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: os.path.relpath(file, ROOT))
def test_no_step_chooses_what_is_uploaded(file: Path) -> None:
    """What a step says, it may say in the words of a stranger."""
    paths = [step["with"]["path"] for step in steps(file) if "upload-artifact" in step.get("uses", "")]
    assert not [path for path in paths if "steps." in path or "outputs" in path]


def test_only_a_tag_starts_a_release_and_no_job_with_rights_runs_the_code_of_the_repository() -> None:
    document = yaml.safe_load(RELEASE.read_text())
    assert document[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key "on" as true
    with_rights = [job for job in document["jobs"].values() if "write" in job["permissions"].values()]
    assert len(with_rights) == 4
    for job in with_rights:
        assert not any("checkout" in step.get("uses", "") for step in job["steps"])


def test_what_a_release_publishes_has_been_tested() -> None:
    jobs = yaml.safe_load(RELEASE.read_text())["jobs"]

    def before(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*map(before, direct))

    for name in ("attest", "publish-wheels", "publish-image", "publish-notes"):
        assert {"build", "test"} <= before(name)


def test_every_command_that_a_workflow_calls_exists() -> None:
    from runner.cli.entry_point import COMMANDS

    called = {
        name
        for file in (*WORKFLOWS, *ACTIONS)
        for step in steps(file)
        for name in re.findall(r"^ *faultwatch ([a-z]+)", step.get("run", ""), re.MULTILINE)
    }
    assert {"gate", "measure"} <= called <= set(COMMANDS)


def test_the_file_that_calls_the_gate_is_short_and_fits_it() -> None:
    (text,) = re.findall(r"```yaml\n(name: faultwatch\n.*?)```", GATE_PAGE.read_text(), re.DOTALL)
    assert len(text.splitlines()) <= 15
    job = yaml.safe_load(text)["jobs"]["gate"]
    called = ROOT / job["uses"].partition("/faultwatch/")[2].partition("@")[0]
    # To YAML 1.1 the key "on" is a truth.
    takes = yaml.safe_load(called.read_text())[True]["workflow_call"]["inputs"]
    assert set(job["with"]) <= set(takes)
    assert job["permissions"] == {"contents": "read", "id-token": "write"}


def test_a_version_of_the_action_that_moved_does_not_run_the_packages_of_before(tmp_path: Path) -> None:
    (cache,) = [step for step in steps(ROOT / "action.yml") if "actions/cache" in step.get("uses", "")]
    before = [step for step in steps(ROOT / "action.yml") if f"steps.{step.get('id')}." in cache["with"]["key"]]
    folders = ["faultwatch", "runner", "service", "setup", "templates", "workloads"]
    for name in [
        ".git_archival.txt",
        "pyproject.toml",
        "requirements.txt",
        *(f"{folder}/a b.py" for folder in folders),
    ]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    keys = []
    for text in ("", "", "another version"):
        (tmp_path / "runner" / "a b.py").write_text(text)
        said = tmp_path / f"said{len(keys)}"
        variables = {"ACTION": str(tmp_path), "GITHUB_OUTPUT": str(said)}
        for step in before:
            subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], env=os.environ | variables, check=True)
        keys.append(said.read_text())
    assert keys[0] == keys[1] != keys[2]
    assert "action_ref" not in cache["with"]["key"]


def test_the_gates_of_two_workloads_do_not_cancel_each_other() -> None:
    """As GitHub evaluates the group of jobs that one workflow calls for the same pull request."""
    concurrency = yaml.safe_load((ROOT / ".github" / "workflows" / "gate.yml").read_text())["concurrency"]
    assert concurrency["cancel-in-progress"]
    known = {"github.workflow": "faultwatch", "inputs.head": "", "github.event.pull_request.number": "7"}

    def evaluate(workload: str) -> str:
        values = known | {"inputs.workload": workload}
        terms = (one.split(" || ") for one in re.findall(r"\$\{\{ (.*?) }}", concurrency["group"]))
        return "-".join(next(values[name] for name in term if values.get(name)) for term in terms)

    assert evaluate("a/workload.toml") != evaluate("b/workload.toml")
    assert evaluate("a/workload.toml") == evaluate("a/workload.toml")
