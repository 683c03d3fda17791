"""``make programs PROGRAM=name``: measure a real program as a field report met it, and let the product name the cause.

The workload files are in ``findings/programs/``, what was measured is in ``findings/measured/``. Each case is measured
and profiled by the command line of Faultwatch, and counted without it by a bare ``perf stat``. ``--store`` writes what
is found instead of comparing with it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from findings import by_hand
from findings.local import forget_services

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "programs"
MEASURED = Path(__file__).parent / "measured"
CLEAR = 0.05
"""The price from which a cause has to be named again: a rule speaks from 0.01 on, where a second profile can differ."""


class Finding(Struct, frozen=True):
    """A cause that the product names."""

    rule: str
    price: float
    """The largest share of the time that remedies can win."""


class Case(Struct, frozen=True):
    """One case of a program: medians of its executions, and the causes, the most expensive one first."""

    name: str
    faults: int | float
    """Of all processes of the case."""
    by_hand: tuple[int, ...]
    """Counts without Faultwatch; of one process."""
    system_percent: float
    seconds: float
    findings: tuple[Finding, ...]


class Measured(Struct, frozen=True):
    """What was measured of a program."""

    cases: tuple[Case, ...]


def programs() -> list[str]:
    """Return the names of the programs."""
    return sorted(file.parent.name for file in PROGRAMS.glob("*/workload.toml"))


def load(name: str) -> Measured:
    """Return what is stored of a program."""
    return msgspec.json.decode(_get_file(name).read_bytes(), type=Measured)


def _get_file(name: str) -> Path:
    return MEASURED / f"{name}.json"


def main(arguments: Sequence[str]) -> int:
    """Measure one program; return 1 if its cases, or the causes that the product names, are not those that are stored.

    A cause whose remedies can win less than 5 % of the time may come and go.
    """
    parser = argparse.ArgumentParser(prog="make programs")
    parser.add_argument("program", choices=programs(), metavar="PROGRAM", help=", ".join(programs()))
    parser.add_argument("--store", action="store_true", help="write what is found, instead of comparing with it")
    chosen = parser.parse_args(arguments)
    if not chosen.store and not _get_file(chosen.program).exists():
        parser.error(f"nothing is stored of {chosen.program} to compare with: measure it with --store")
    forget_services()
    found = measure(chosen.program)
    _show_program(found)
    if chosen.store:
        MEASURED.mkdir(exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
        _get_file(chosen.program).write_bytes(text)
        return 0
    differences = compare(load(chosen.program), found)
    print("".join(f"{line}\n" for line in differences), end="")
    return 1 if differences else 0


def compare(stored: Measured, found: Measured) -> list[str]:
    """Return a line for each case that only one of two measurements has, or of which they name other causes."""
    before, after = ({case.name: case for case in measured.cases} for measured in (stored, found))
    lines = [f"{name}: not found" for name in before if name not in after]
    for name, case in after.items():
        if (known := before.get(name)) is None:
            lines.append(f"{name}: not stored")
        elif _list_clear_rules(case) - _list_rules(known) or _list_clear_rules(known) - _list_rules(case):
            lines.append(f"{name}: {_format_findings(case)}; stored is {_format_findings(known)}")
    return lines


def measure(name: str) -> Measured:
    """Measure and profile each case of a program, and count it by hand."""
    folder = PROGRAMS / name
    home = ROOT / "build" / "findings" / f"program-{name}"
    return Measured(
        tuple(
            Case(
                name=_format_name(report["case"]),
                faults=_compute_median(report, "minor-faults"),
                by_hand=by_hand.count_own(folder, _format_name(report["case"])),
                system_percent=round(_compute_median(report, "sys-percent"), 1),
                seconds=round(_compute_median(report, "elapsed"), 4),
                findings=_list_findings(home, folder, _format_name(report["case"])),
            )
            for report in _run_faultwatch(home, "measure", str(folder), "--again")
        )
    )


def _list_findings(home: Path, folder: Path, case: str) -> tuple[Finding, ...]:
    document = _run_faultwatch(home, "profile", str(folder), "--case", case, "--no-upload")
    for remark in document["profile"]["remarks"]:
        print(f"{case}: {remark}")
    return tuple(Finding(finding["rule"], round(finding["price"], 2)) for finding in document["diagnosis"]["findings"])


def _run_faultwatch(home: Path, *words: str) -> Any:
    """Run a command, whose progress is shown, and return what it prints as JSON."""
    result = subprocess.run(
        [str(Path(sys.executable).with_name("faultwatch")), *words, "--json"],
        env={**os.environ, "FAULTWATCH_HOME": str(home)},
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    if result.returncode:
        raise SystemExit(f"faultwatch {words[0]}: exit code {result.returncode}")
    return json.loads(result.stdout)


def _format_name(case: dict[str, Any]) -> str:
    inner = ",".join(f"{name}={value}" for name, value in sorted(case["parameters"].items()))
    return f"{case['workload']}[{inner}]"


def _compute_median(report: dict[str, Any], metric: str) -> float:
    values = [sample["readings"][metric]["value"] for sample in report["samples"]]
    return float(statistics.median(value for value in values if value is not None))


def _list_rules(case: Case) -> set[str]:
    return {finding.rule for finding in case.findings}


def _list_clear_rules(case: Case) -> set[str]:
    return {finding.rule for finding in case.findings if finding.price >= CLEAR}


def _format_findings(case: Case) -> str:
    return ", ".join(f"{finding.rule} ({finding.price:.0%})" for finding in case.findings) or "no cause"


def _show_program(found: Measured) -> None:
    table = Table()
    for title in ("case", "minor faults", "by hand", "system time", "time", "cause"):
        table.add_column(title, justify="left" if title in {"case", "cause"} else "right")
    for case in found.cases:
        table.add_row(
            escape(case.name),
            f"{case.faults:,.0f}",
            f"{statistics.median(case.by_hand):,.0f}",
            f"{case.system_percent:.0f} %",
            f"{case.seconds * 1000:,.0f} ms",
            _format_findings(case),
        )
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
