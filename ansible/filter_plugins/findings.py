"""What does not hold on hosts, as rows and as a table for people."""

from collections.abc import Mapping, Sequence

Finding = Mapping[str, str]
COLUMNS = ("host", "name", "status", "finding", "remedy")


def knob_mismatches(declared: Mapping[str, str], held: Mapping[str, str], host: str) -> list[Finding]:
    """Return a row for each declared knob that has another value, by name."""
    return [
        {
            "host": host,
            "name": f"knob {name}",
            "status": "mismatch",
            "finding": f"declared {value!r}, held {held.get(name, 'nothing')!r}",
            "remedy": "ansible-playbook tune.yml sets it again",
        }
        for name, value in sorted(declared.items())
        if held.get(name) != value
    ]


def findings_table(findings: Sequence[Finding]) -> str:
    """Return rows as lines of columns; what is to be done stands last, as it is the longest."""
    rows = [COLUMNS, *(tuple(finding[column] for column in COLUMNS) for finding in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS) - 1)]
    return "\n".join(
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    )


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, object]:
        """Return the filters by name."""
        return {"knob_mismatches": knob_mismatches, "findings_table": findings_table}
