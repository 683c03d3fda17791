"""The findings of a gate as SARIF 2.1.0 (Static Analysis Results Interchange Format, a standard of OASIS).

GitHub's code scanning, Azure DevOps and many editors read it.
"""

import json
from typing import Any
from urllib.parse import quote

from runner.contract.gate import FindingRule, GateAnswer, GateFinding, GateReport
from runner.gate_files.code_quality import compute_fingerprint
from runner.gate_files.escape_for_result_files import escape_result_text
from runner.installed_version import get_version

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"failure": "error", "warning": "warning", "notice": "note"}
_RULES = {
    FindingRule.NOT_MEASURED: "A case could not be measured.",
    FindingRule.OVER_BUDGET: "A metric got worse by more than its budget.",
    FindingRule.STEP_BY_STEP: "A metric got worse by more than its budget, in steps that each stay within it.",
    FindingRule.JUDGE_CHANGED: "Head changes how it is measured or judged.",
    FindingRule.UNDECIDED: "A metric on which the verdict depends is missing on one side, or needs more runs.",
    FindingRule.WITHIN_BUDGET: "A metric got worse, but stayed within its budget.",
}


def format_sarif(report: GateReport, answer: GateAnswer) -> str:
    """Return the SARIF log, with one run of the tool."""
    rules = [
        {"id": rule.value, "name": _format_rule_name(rule), "shortDescription": {"text": text}}
        for rule, text in _RULES.items()
    ]
    run = {
        "tool": {"driver": {"name": "Faultwatch", "version": get_version(), "rules": rules}},
        "automationDetails": {"id": f"faultwatch/gate/{report.head}"},
        "columnKind": "unicodeCodePoints",
        "properties": {"verdict": answer.verdict.value, "base": report.base, "head": report.head},
        "results": [_build_result(finding) for finding in answer.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _format_rule_name(rule: FindingRule) -> str:
    return "".join(word.capitalize() for word in rule.split("-"))


def _build_result(finding: GateFinding) -> dict[str, Any]:
    """Return one finding of a gate as a result of SARIF."""
    location: dict[str, Any] = {
        "logicalLocations": [{"name": escape_result_text(finding.case or "gate"), "kind": "member"}]
    }
    if finding.file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(finding.file), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": finding.line},
        }
    return {
        "ruleId": finding.rule.value,
        "ruleIndex": list(_RULES).index(finding.rule),
        "level": _LEVELS[finding.level],
        "message": {"text": escape_result_text(f"{finding.title}: {finding.message}")},
        "locations": [location],
        "partialFingerprints": {"finding/v1": compute_fingerprint(finding)},
    }
