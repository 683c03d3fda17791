"""The nightly workflow, run for real: planned, measured on two hosts that are this machine, and digested."""

import json
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.commands import Proxy, served
from tests.workflows.act import TOOLS, Done, act
from tests.workflows.subject import Subject

pytestmark = [
    pytest.mark.workflows,
    pytest.mark.perf,
    pytest.mark.skipif(not (TOOLS / "act").exists(), reason="act is not installed; make test-workflows installs it"),
]
MATRIX = """
[hosts.bench-new]
labels = {labels}
[hosts.bench-old]
labels = {labels}

[configurations.plain]
[configurations.arenas]
environment = {{ MALLOC_ARENA_MAX = "1" }}

[[workloads]]
path = "workload.toml"
"""
BROKEN = 14
"""A commit after which the program does not build."""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return Subject(tmp_path_factory.mktemp("night"))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Proxy]:
    with served(tmp_path / "service") as proxy:
        yield proxy


def nightly_run(
    subject: Subject,
    folder: Path,
    service: Proxy | None,
    *options: str,
    labels: str = '["self-hosted", "lab"]',
    commit: int = 13,
    **inputs: str,
) -> Done:
    subject.adopt("main", subject.commits[commit - 1], {"matrix.toml": MATRIX.format(labels=labels)})
    return act(
        folder,
        subject.path,
        "workflow_dispatch",
        "nightly.yml",
        *(("--var", f"FAULTWATCH_URL={service.url}") if service else ()),
        *(part for name, value in inputs.items() for part in ("--input", f"{name}={value}")),
        *options,
        FAULTWATCH_HOME=str(folder / "home"),
    )


def digest(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((done.kept / "faultwatch-nightly.json").read_text())
    return found


def test_a_night_is_planned_measured_on_each_host_and_digested(
    subject: Subject, service: Proxy, tmp_path: Path
) -> None:
    done = nightly_run(subject, tmp_path, service)
    assert done.returncode == 0, done.log
    assert json.loads(done.outputs["hosts"]) == {
        "include": [
            {"host": "bench-new", "labels": ["self-hosted", "lab"]},
            {"host": "bench-old", "labels": ["self-hosted", "lab"]},
        ]
    }
    assert done.outputs["complete"] == "true"
    assert "Nightly run night-1: 4 of 4 cells are complete" in done.summary
    told = digest(done)
    assert told == service.ask("/nightly-runs/night-1")
    assert {(cell["host"], cell["configuration"]) for cell in told["cells"]} == {
        (host, configuration) for host in ("bench-new", "bench-old") for configuration in ("plain", "arenas")
    }
    for cell in told["cells"]:
        (case,) = cell["cases"]
        run = service.ask(f"/runs/{case['run_id']}")
        assert (case["state"], run["host"]["name"]) == ("measured", cell["host"])
        expected = "1" if cell["configuration"] == "arenas" else None
        assert run["environment"]["settings"].get("variable.MALLOC_ARENA_MAX") == expected


def test_the_digest_says_what_did_not_build_and_the_night_fails(
    subject: Subject, service: Proxy, tmp_path: Path
) -> None:
    done = nightly_run(subject, tmp_path, service, commit=BROKEN)
    assert done.returncode != 0
    assert done.outputs["complete"] == "false"
    assert "0 of 4 cells are complete" in done.summary
    assert "`make copyserve` ended with exit code 2" in done.summary
    told = service.ask("/nightly-runs/night-1")
    assert {case["state"] for cell in told["cells"] for case in cell["cases"]} == {"failed"}


def test_a_host_that_does_not_run_is_named_in_the_digest(subject: Subject, service: Proxy, tmp_path: Path) -> None:
    done = nightly_run(subject, tmp_path, service, "--matrix", "host:bench-new")
    assert done.returncode != 0
    assert "bench-old has not reported" in done.summary
    told = digest(done)
    assert (told["absent_hosts"], told["complete"]) == (["bench-old"], False)
    assert {cell["host"] for cell in told["cells"] if cell["carried_out"]} == {"bench-new"}


def test_hosts_for_which_there_is_no_runner_are_named_in_the_digest(
    subject: Subject, service: Proxy, tmp_path: Path
) -> None:
    done = nightly_run(subject, tmp_path, service, labels='["absent"]')
    assert "Skipping unsupported platform" in done.log
    assert done.returncode != 0
    assert "bench-new and bench-old have not reported" in done.summary
    assert digest(done)["absent_hosts"] == ["bench-new", "bench-old"]


def test_without_a_service_nothing_runs(subject: Subject, tmp_path: Path) -> None:
    done = nightly_run(subject, tmp_path, None)
    assert done.returncode == 0, done.log
    assert "faultwatch" not in done.log.replace("faultwatch.yml", "")
    assert not list(done.kept.iterdir())
    assert not (tmp_path / "home").exists()


def test_shell_characters_in_the_name_of_the_matrix_do_nothing(
    subject: Subject, service: Proxy, tmp_path: Path
) -> None:
    owned = tmp_path / "owned"
    done = nightly_run(subject, tmp_path, service, matrix=f'"; touch {owned}; $(touch {owned}) `touch {owned}` "')
    assert done.returncode != 0
    assert not owned.exists(), done.log
    with pytest.raises(urllib.error.HTTPError, match="404"):
        service.ask("/nightly-runs/night-1")
