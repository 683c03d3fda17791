"""Keeps the charts of the cases that drifted, as the service draws them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import requests
from msgspec.structs import replace

from findings.product import METRIC
from runner.reporting.embedded import connect
from runner.settings import load_settings

_SIZE = {"width": "900", "height": "320"}
"""Pixels."""


def save(home: Path, cases: Iterable[str], folder: Path) -> list[Path]:
    """Write the chart of each case into a folder, from the results in a data folder; return the files.

    Raises
    ------
    requests.HTTPError
        The service cannot draw one.
    SystemExit
        Two cases would have the same file.
    """
    if not (chosen := sorted(set(cases))):
        return []
    _refuse_collisions(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with connect(replace(load_settings(), home=home, url=None)) as service:
        for case in chosen:
            series = max(service.series(case=case, metric=METRIC), key=_number)  # of the newest definition
            answer = requests.get(f"{service.url}/series/{_number(series)}.png", _SIZE, timeout=60)
            answer.raise_for_status()
            files.append(folder / f"{file_name(case)}.png")
            files[-1].write_bytes(answer.content)
    return files


def _refuse_collisions(cases: Iterable[str]) -> None:
    named: dict[str, str] = {}
    for case in cases:
        other = named.setdefault(file_name(case), case)
        if other != case:
            raise SystemExit(f"{other} and {case} would have one picture, {file_name(case)}.png: rename a value")


def _number(series: dict[str, Any]) -> int:
    return int(series["id"])


def file_name(case: str) -> str:
    """Return the name of a case's picture without its ending: ``lua-tables`` of ``lua[work=tables]``."""
    workload, _, parameters = case.partition("[")
    values = re.findall(r"=([^,\]]+)", parameters)
    return re.sub(r"[^\w.-]+", "-", "-".join((workload, *values)))
