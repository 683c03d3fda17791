from pathlib import Path

from hypothesis import given, settings
from lxml import etree

from runner.contract.gate import FindingRule, GateAnswer, GateReport
from runner.gate_files.junit import format_junit
from tests.runner.gate_files.made_answers import HOSTILE, case, finding, gate, gates

SCHEMA = etree.XMLSchema(file=str(Path(__file__).parent / "schemas/junit-10.xsd"))


def parsed(report: GateReport, answer: GateAnswer) -> etree._Element:
    root = etree.fromstring(format_junit(report, answer).encode())
    SCHEMA.assertValid(root)
    return root


@given(gates())
@settings(max_examples=60, deadline=None)
def test_any_gate_is_valid_and_fails_as_the_gate_does(made: tuple[GateReport, GateAnswer]) -> None:
    root = parsed(*made)
    bad = root.findall(".//failure") + root.findall(".//error")
    assert bool(bad) is not made[1].passed
    (suite,) = root
    assert int(suite.get("failures")) + int(suite.get("errors")) == len(bad)
    assert int(suite.get("tests")) == len(root.findall(".//testcase"))
    for text in (*root.itertext(), *(value for element in root.iter() for value in element.attrib.values())):
        assert "@octo" not in text
        assert "<script" not in text


def test_a_case_that_got_worse_is_a_failure_with_its_numbers() -> None:
    slow = case("parser", "a")
    root = parsed(*gate(slow, case("parser", "b"), findings=(finding(slow),)))
    worse, fine = root.findall(".//testcase")
    assert (worse.get("name"), worse.get("classname")) == ("parser[p=a]", "subject.parser")
    assert worse.get("time") == "60.250"
    assert worse.find("failure").get("message") == "w: minor faults: +1 fault, budget 0."
    assert "minor-faults: 1,000 → 1,001 faults, changed" in worse.findtext("system-out")
    assert [child.tag for child in fine] == ["system-out"]


def test_what_could_not_be_measured_is_an_error_and_what_is_undecided_is_skipped() -> None:
    broken, doubtful = case("parser", "a"), case("parser", "b")
    root = parsed(
        *gate(
            broken,
            doubtful,
            findings=(
                finding(broken, rule=FindingRule.NOT_MEASURED),
                finding(doubtful, rule=FindingRule.UNDECIDED, level="warning"),
            ),
        )
    )
    assert [test[0].tag for test in root.findall(".//testcase")] == ["error", "skipped"]
    assert dict(root[0].attrib).items() >= {"tests": "2", "failures": "0", "errors": "1", "skipped": "1"}.items()


def test_a_gate_without_cases_fails_as_a_test_of_its_own() -> None:
    root = parsed(*gate(findings=(finding(None, rule=FindingRule.NOT_MEASURED, message=HOSTILE),)))
    (test,) = root.findall(".//testcase")
    assert (test.get("name"), test[0].tag) == ("gate", "error")
    assert "\\u{0}\\u{1b}[31m\\u{202e}" in test[0].get("message")
