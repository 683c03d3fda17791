"""The findings of verify.yml on hosts: as rows, and as a table for people."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Finding = dict[str, str]
COLUMNS = ("host", "name", "status", "finding", "remedy")


def collect_runner_findings(  # noqa: PLR0917 - a filter gets its arguments by place
    host: str,
    doctor: Mapping[str, Any],
    declared: Mapping[str, Any],
    actual: Mapping[str, Any],
    spool: Mapping[str, Any],
    admitted: Mapping[str, Any],
) -> list[Finding]:
    """Return what is wrong on a runner.

    Parameters
    ----------
    host
        Its name.
    doctor, actual, spool
        Results of the commands ``faultwatch doctor``, ``env`` and ``spool``, with ``--json``.
    declared
        The file of declared settings, as the module ``slurp`` reads it.
    admitted
        Result of a command that prints the HTTP status with which the service answers the host.
    """
    findings = [check for check in json.loads(doctor["stdout"])["checks"] if check["status"] in {"problem", "warning"}]
    findings += find_setting_mismatches(
        json.loads(base64.b64decode(declared["content"]))["settings"], json.loads(actual["stdout"])["settings"]
    )
    spooled = json.loads(spool["stdout"])
    if spooled["waiting"] or spooled["refused"]:
        description = f"{len(spooled['waiting'])} reports are waiting and {len(spooled['refused'])} were refused"
        findings.append({"name": "spool", "status": "problem", "finding": description, "remedy": "faultwatch spool"})
    if admitted["stdout"] != "200":
        description = f"the service answers this host with {admitted['stdout']} {admitted['stderr']}".strip()
        remedy = "check that the host reaches the service, and that its token is valid"
        findings.append({"name": "service", "status": "problem", "finding": description, "remedy": remedy})
    return [{"host": host, **finding} for finding in findings]


def find_setting_mismatches(declared: Mapping[str, str], actual: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a row for each declared setting that has another value, by name."""
    for name, value in sorted(declared.items()):
        if actual.get(name) != value:
            yield {
                "name": f"setting {name}",
                "status": "mismatch",
                "finding": f"declared as {value!r}, but is {actual.get(name, 'not set')!r}",
                "remedy": "run ansible-playbook tune.yml",
            }


def format_findings(findings: Sequence[Mapping[str, str]]) -> str:
    """Return rows as lines of columns; the remedy is the last one, because it is the longest."""
    rows = [COLUMNS, *(tuple(finding[column] for column in COLUMNS) for finding in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS) - 1)]
    return "\n".join(
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    )


class FilterModule:
    """The class by which Ansible finds the filters of this file."""

    def filters(self) -> dict[str, object]:
        """Return the filters by name."""
        return {"runner_findings": collect_runner_findings, "findings_table": format_findings}
