"""The findings of a gate as GitLab's code-quality report.

GitLab shows each finding in the merge request, at its line of the workload file. The format is a subset of
CodeClimate's. GitLab's document "Code Quality" lists the fields; it requires all those that are written here.
"""

import hashlib
import json
from typing import Any

from runner.contract.gate import GateAnswer, GateFinding
from runner.gate_files.escape_for_result_files import escape_result_text

_SEVERITIES = {"failure": "major", "warning": "minor", "notice": "info"}
_DEFAULT_FILE = "workload.toml"
"""Stands for the workload file if that is outside of the repository: the format requires a file."""


def format_code_quality(answer: GateAnswer) -> str:
    """Return GitLab's code quality report: a list with an entry for each finding."""
    return json.dumps([_build_entry(finding) for finding in answer.findings], indent=2) + "\n"


def compute_fingerprint(finding: GateFinding) -> str:
    """Return an identifier of a finding that stays the same if only its numbers change."""
    parts = (finding.rule, finding.case, finding.metric, finding.file)
    return hashlib.sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()


def _build_entry(finding: GateFinding) -> dict[str, Any]:
    """Return one finding of a gate in GitLab's format."""
    return {
        "description": escape_result_text(f"{finding.title}: {finding.message}"),
        "check_name": f"faultwatch/{finding.rule}",
        "fingerprint": compute_fingerprint(finding),
        "severity": _SEVERITIES[finding.level],
        "location": {"path": finding.file or _DEFAULT_FILE, "lines": {"begin": finding.line}},
    }
