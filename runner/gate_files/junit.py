"""The verdict of a gate as JUnit XML: a test for each case.

Jenkins, GitLab, Forgejo and most other CI systems read it. There is no standard for the format; this module follows
the schema of Jenkins' xUnit plugin (``junit-10.xsd``), and GitLab's document "Unit test reports".
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from runner.contract import get_metric
from runner.contract.comparison import Comparison, Side
from runner.contract.gate import FindingRule, GateAnswer, GateCase, GateFinding, GateReport
from runner.gate_files.escape_for_result_files import escape_result_text

_SUITE_NAME = "faultwatch.gate"
_GATE_TEST_NAME = "gate"
"""The name of the test for the findings that concern no particular case."""


def format_junit(report: GateReport, answer: GateAnswer) -> str:
    """Return the JUnit XML report, with one test for each case.

    A case that got worse is a failure, and one that could not be measured is an error. If it is undecided or could not
    be judged, but the gate does not fail for that, the test is skipped.
    """
    suite = ET.Element("testsuite", name=_SUITE_NAME)
    properties = ET.SubElement(suite, "properties")
    for name, value in (("verdict", answer.verdict), ("base", report.base), ("head", report.head)):
        ET.SubElement(properties, "property", name=name, value=value)
    # One test for each case.
    for case, comparison in zip(report.cases, answer.comparisons, strict=True):
        name = case.head.case.name
        findings = [finding for finding in answer.findings if finding.case == name]
        suite.append(
            _build_test(
                name, f"{case.head.subject}.{case.head.case.workload}", _compute_seconds(case), findings, comparison
            )
        )
    # One more for findings about the whole gate.
    names = {case.head.case.name for case in report.cases}
    other_findings = [finding for finding in answer.findings if finding.case not in names]
    if other_findings:
        suite.append(_build_test(_GATE_TEST_NAME, _SUITE_NAME, seconds=0, findings=other_findings, comparison=None))
    # Totals.
    tests = suite.findall("testcase")
    totals = {
        "tests": str(len(tests)),
        "failures": _count_results(tests, "failure"),
        "errors": _count_results(tests, "error"),
    }
    suites = ET.Element("testsuites", totals, name="faultwatch")
    suite.attrib |= totals | {"skipped": _count_results(tests, "skipped")}
    suite.set("time", _format_seconds(sum(map(_compute_seconds, report.cases))))
    if report.cases:
        suite.set("timestamp", report.cases[0].head.started_at.strftime("%Y-%m-%dT%H:%M:%S"))
        suite.set("hostname", report.cases[0].head.host.name)
    suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _count_results(tests: Sequence[ET.Element], kind: str) -> str:
    """Return the number of tests that have a result of this kind, as the text of an attribute."""
    return str(sum(test.find(kind) is not None for test in tests))


def _build_test(
    name: str, group: str, seconds: float, findings: Sequence[GateFinding], comparison: Comparison | None
) -> ET.Element:
    """Return one test: failed, with an error because nothing was measured, skipped with a warning, or passed.

    Parameters
    ----------
    group
        The class of the test, by which readers of JUnit XML group the tests.
    comparison
        The comparison of the case; None if there is none, or if the test is for the whole gate.
    """
    test = ET.Element(
        "testcase", name=escape_result_text(name), classname=escape_result_text(group), time=_format_seconds(seconds)
    )
    failures = [finding for finding in findings if finding.level == "failure"]
    warnings = [finding for finding in findings if finding.level == "warning"]
    if failures:
        kind = "error" if failures[0].rule is FindingRule.NOT_MEASURED else "failure"
        _add_result(test, kind, failures)
    elif warnings:
        _add_result(test, "skipped", warnings)
    lines = [*map(_format_finding, findings), *_format_metrics(comparison)]
    if lines:
        ET.SubElement(test, "system-out").text = "\n".join(lines)
    return test


def _add_result(test: ET.Element, kind: str, findings: Sequence[GateFinding]) -> None:
    element = ET.SubElement(test, kind, type=findings[0].rule, message=_format_finding(findings[0]))
    element.text = "\n".join(map(_format_finding, findings))


def _format_finding(finding: GateFinding) -> str:
    return escape_result_text(f"{finding.title}: {finding.message}")


def _format_metrics(comparison: Comparison | None) -> Iterable[str]:
    """Return a line for each metric by which the gate decides."""
    for metric_comparison in comparison.metrics if comparison else ():
        if metric_comparison.counts:
            unit = get_metric(metric_comparison.metric).unit
            levels = (
                f"{_format_level(metric_comparison.base)} → {_format_level(metric_comparison.head)} {unit}".rstrip()
            )
            yield escape_result_text(
                f"{metric_comparison.metric}: {levels}, {metric_comparison.verdict.replace('_', ' ')}"
            )


def _format_level(side: Side) -> str:
    return "–" if side.level is None else f"{side.level:,}"


def _compute_seconds(case: GateCase) -> float:
    """Return how many seconds the runs of a case took."""
    sides = (case.head,) if case.base_stored else (case.base, case.head)
    start, end = min(side.started_at for side in sides), max(side.finished_at for side in sides)
    return (end - start).total_seconds()


def _format_seconds(seconds: float) -> str:
    return f"{max(seconds, 0):.3f}"
