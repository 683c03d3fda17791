import json
from pathlib import Path

from hypothesis import given, settings
from jsonschema_rs import validator_for

from runner.contract.gate import GateAnswer, GateReport
from runner.gate_files.sarif import format_sarif
from tests.runner.gate_files.made_answers import case, finding, gate, gates

_FILE = Path(__file__).parent / "schemas/sarif-2.1.0.json"
# The pattern of a property that is not written here is no regular expression in this edition of the schema.
SCHEMA = validator_for(json.loads(_FILE.read_text().replace("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^")))


@given(gates())
@settings(max_examples=60, deadline=None)
def test_any_gate_is_valid(made: tuple[GateReport, GateAnswer]) -> None:
    document = json.loads(format_sarif(*made))
    SCHEMA.validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert any(result["level"] == "error" for result in run["results"]) is not made[1].passed
    assert not any("](" in result["message"]["text"] for result in run["results"])


def test_a_budget_is_found_at_its_line_of_an_address_that_is_encoded() -> None:
    made = gate(case(), findings=(finding(case(), file="a b/wörk.toml"), finding(case(), file="")))
    inside, outside = json.loads(format_sarif(*made))["runs"][0]["results"]
    place = inside["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/w%C3%B6rk.toml", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 12}
    assert "physicalLocation" not in outside["locations"][0]
