"""What verify.yml tells of a runner."""

from __future__ import annotations

import base64
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "ansible" / "filter_plugins" / "verify_findings.py"


@pytest.fixture(scope="module")
def findings() -> ModuleType:
    """The filters, which Ansible loads by path."""
    spec = importlib.util.spec_from_file_location("verify_findings", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(document: object) -> dict[str, str]:
    return {"stdout": json.dumps(document), "stderr": ""}


def seen(
    declared: dict[str, str], held: dict[str, str], waiting: tuple[Any, ...] = (), status: str = "200"
) -> tuple[Any, ...]:
    checks = [
        {"name": "perf", "status": "ok", "finding": "perf 6.1", "remedy": ""},
        {"name": "canary", "status": "problem", "finding": "one too many", "remedy": "mend it"},
        {"name": "load", "status": "warning", "finding": "2.0", "remedy": "wait"},
        {"name": "clock", "status": "unknown", "finding": "no name", "remedy": ""},
    ]
    content = base64.b64encode(json.dumps({"settings": declared}).encode()).decode()
    spool = {"waiting": list(waiting), "refused": []}
    return (
        told({"checks": checks}),
        {"content": content},
        told({"settings": held}),
        told(spool),
        {"stdout": status, "stderr": ""},
    )


def test_a_host_on_which_all_holds_has_only_what_the_doctor_found(findings: ModuleType) -> None:
    found = findings.collect_runner_findings(
        "bench-1", *seen({"thp.enabled": "never"}, {"thp.enabled": "never", "x": "1"})
    )
    assert [(one["host"], one["name"], one["status"]) for one in found] == [
        ("bench-1", "canary", "problem"),
        ("bench-1", "load", "warning"),
    ]


def test_a_setting_that_was_changed_or_is_gone_is_a_mismatch(findings: ModuleType) -> None:
    found = findings.collect_runner_findings(
        "b", *seen({"thp.enabled": "never", "cpu.smt": "off"}, {"thp.enabled": "always"})
    )
    assert [one["finding"] for one in found if one["status"] == "mismatch"] == [
        "declared as 'off', but is 'not set'",
        "declared as 'never', but is 'always'",
    ]


def test_reports_that_wait_and_a_service_that_refuses_are_problems(findings: ModuleType) -> None:
    found = findings.collect_runner_findings("b", *seen({}, {}, waiting=({},), status="401"))
    assert [one["finding"] for one in found if one["name"] in {"spool", "service"}] == [
        "1 reports are waiting and 0 were refused",
        "the service answers this host with 401",
    ]


def test_the_table_has_a_line_a_finding_in_columns(findings: ModuleType) -> None:
    row = {
        "host": "bench-1",
        "name": "setting x",
        "status": "mismatch",
        "finding": "declared '1'",
        "remedy": "tune.yml",
    }
    lines = findings.format_findings([row]).splitlines()
    assert lines == [
        "host     name       status    finding       remedy",
        "bench-1  setting x  mismatch  declared '1'  tune.yml",
    ]
