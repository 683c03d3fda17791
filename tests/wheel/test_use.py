"""What people do with an installed wheel, at full length; runs in ``make test-wheel``."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runner.commands import faultwatch
from tests.wheel.installation import Installation, user_command

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif(not os.environ.get("FAULTWATCH_TEST_WHEEL"), reason="make test-wheel runs it"),
]


def test_doctor_needs_no_package_of_the_service(bare: Installation, installed: Installation) -> None:
    def checks(installation: Installation) -> list[str]:
        done = installation.run("faultwatch", "doctor", "--json")
        assert "Traceback" not in done.stderr
        return [check["name"] for check in json.loads(done.stdout)["checks"]]

    assert checks(bare) == checks(installed) != []


def test_a_command_that_needs_a_service_says_so_and_names_both_remedies(bare: Installation) -> None:
    done = bare.run("faultwatch", "demo")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()[-2:]
    assert first.startswith("faultwatch: the local service did not start")
    assert "pip install 'faultwatch[service]'" in first
    assert "FAULTWATCH_URL" in second


def test_the_runner_alone_measures_a_shipped_workload(bare: Installation) -> None:
    (report,) = measured(bare)
    assert report["outcome"] == "measured"


def test_all_installations_measure_shipped_workloads_as_the_same_commit(
    bare: Installation, installed: Installation
) -> None:
    (one,), (other,), (again,) = measured(bare), measured(installed), measured(installed)
    assert one["revision"] == other["revision"] == again["revision"]
    assert one["subject"] == "workloads"


def test_the_demo_is_that_of_the_clone(installed: Installation, tmp_path: Path) -> None:
    done = installed.run("faultwatch", "demo", "--json")
    assert done.returncode == 0, done.stderr
    status, output, errors = faultwatch(tmp_path / "home", "demo", "--json", timeout=280)
    assert status == 0, errors
    assert blamed(json.loads(done.stdout)) == blamed(json.loads(output)) != []


def test_pip_installs_what_the_service_needs(wheel: Path, installed: Installation) -> None:
    """With the packages of the registry, as they are today."""
    environment = installed.environment.with_name("downloaded")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin/pip"), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, f"{wheel}[service]"], check=True)
    upgrade = user_command([str(environment / "bin/faultwatch-service"), "upgrade"], installed.home)
    done = subprocess.run(upgrade, env=installed.variables(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def measured(installation: Installation) -> list[dict[str, Any]]:
    choices = ("--set", "allocator=glibc", "--set", "buffer=reused")
    done = installation.run("faultwatch", "measure", "tensor_copy", *choices, "--samples", "2", "--json")
    assert done.returncode == 0, done.stderr
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    return reports


def blamed(document: dict[str, Any]) -> list[tuple[object, ...]]:
    return sorted((drift["case"], drift["metric"], drift["cause"], drift["revision"]) for drift in document["drifts"])
