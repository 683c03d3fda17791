import json

from hypothesis import given, settings
from jsonschema_rs import validator_for

from runner.contract.gate import GateAnswer, GateReport
from runner.gate_files.code_quality import format_code_quality
from tests.runner.gate_files.made_answers import case, finding, gate, gates

# The table of the document "Code Quality" of GitLab, section "Code Quality report format".
SCHEMA = validator_for(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "minLength": 1},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": "^(?!\\./|/)."},
                        "lines": {
                            "type": "object",
                            "required": ["begin"],
                            "properties": {"begin": {"type": "integer", "minimum": 1}},
                        },
                    },
                },
            },
        },
    }
)


@given(gates())
@settings(max_examples=60, deadline=None)
def test_any_gate_is_valid(made: tuple[GateReport, GateAnswer]) -> None:
    text = format_code_quality(made[1])
    entries = json.loads(text)
    SCHEMA.validate(entries)
    assert text.isascii()
    assert len(entries) == len(made[1].findings)
    assert any(entry["severity"] == "major" for entry in entries) is not made[1].passed
    assert not any("@octo" in entry["description"] or "](" in entry["description"] for entry in entries)


def test_a_finding_keeps_its_fingerprint_while_only_its_numbers_change() -> None:
    slow, other = case("parser", "a"), case("parser", "b")
    changed = (finding(slow), finding(slow, message="+2 faults"), finding(other), finding(slow, metric="major-faults"))
    first, again, *others = (
        entry["fingerprint"] for entry in json.loads(format_code_quality(gate(slow, other, findings=changed)[1]))
    )
    assert first == again
    assert len({first, *others}) == 3


def test_a_budget_is_found_at_its_line() -> None:
    (entry,) = json.loads(format_code_quality(gate(case(), findings=(finding(case()),))[1]))
    assert entry["location"] == {"path": "bench/workload.toml", "lines": {"begin": 12}}
    assert entry["check_name"] == "faultwatch/over-budget"
