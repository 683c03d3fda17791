"""Workload files of a gate, written by text."""

from pathlib import Path

from runner.workload import Workload, load_workload
from runner.workload.gate_cases import WorkloadFiles

GENERAL = '[workload]\nname = "w"\n'
RUN = '[run]\ncommand = ["./prog", "{n}"]\n'
MATRIX = "[matrix]\nn = [1, 9]\n"
SERVER = '[server]\ncommand = "./serve {port}"\n[load]\ncommand = "./load {port} {n}"\nfill = "./fill {port}"\n'


def load(folder: Path, text: str) -> Workload:
    file = folder / f"{len(list(folder.iterdir()))}.toml"
    file.write_text(text)
    return load_workload(file)


def files(folder: Path, judge: str, base: str, head: str) -> WorkloadFiles:
    return WorkloadFiles(*(load(folder, text) for text in (judge, base, head)))
