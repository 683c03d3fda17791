"""Builds the bundled workloads, changed or not, and profiles their cases."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from bench.diagnosis_mutations import Change, Mutation
from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Profile
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.measuring.cold_files import EvictionError
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.program_failure import ExecutionFailure
from runner.profile.case_profiler import collect_profile
from runner.workload import Workload, load_workload

WORKLOADS = Path(__file__).parents[1] / "workloads"
REVISIONS = {"bad": "Give the buffer back", "good": "Refuse numbers"}
"""Of the demo: its first regression, and the commit before."""
FAILURES = (FaultwatchError, ExecutionFailure, EvictionError, subprocess.CalledProcessError)
"""What keeps a case from being profiled here."""


class Yard:
    """Where workloads are built and profiled."""

    def __init__(self, scratch: Path, bench: Bench) -> None:
        self.scratch = scratch
        self._bench = bench
        self._trees: dict[tuple[object, ...], Path] = {}

    def tree(self, workload: str, patch: Mapping[str, str], which: str = "") -> Path:
        """Build a workload, once for each patch."""
        key = (workload, which, *patch.items())
        if key not in self._trees:
            folder = self.scratch / f"{workload}-{len(self._trees)}"
            if workload == "copy_service":
                _check_out(folder, REVISIONS[which])
                subprocess.run(["make", "-s", "copyserve"], cwd=folder, check=True, capture_output=True)
            else:
                shutil.copytree(WORKLOADS / workload, folder)
                _apply(folder, patch)
                subprocess.run(["make", "-s"], cwd=folder, check=True, capture_output=True)
            self._trees[key] = folder
        return self._trees[key]

    def trial(self, workload: Workload, parameters: Mapping[str, str | int], tree: Path) -> Trial:
        """Return a case that can be executed."""
        case = Case(workload=workload.workload.name, definition="0" * 16, parameters=dict(parameters))
        revision = Revision(commit="0" * 40, committed_at=datetime.now(UTC))
        trial = Trial(workload, Subject("bench", revision, case), self._bench, tree)
        if trial.obstacle:
            raise FaultwatchError(trial.obstacle)
        return trial

    def profile(self, workload: Workload, parameters: Mapping[str, str | int], tree: Path) -> Profile:
        """Profile a case."""
        return collect_profile(self.trial(workload, parameters, tree))

    def request(self, mutation: Mutation) -> DiagnosisRequest:
        """Profile a mutation, and the workload before it if the rules have to compare the two."""
        sides = [
            self.profile(
                changed(mutation.workload, change), mutation.parameters, self.tree(mutation.workload, change.patch)
            )
            for change in (mutation.change, mutation.before)
            if change is not None
        ]
        return DiagnosisRequest(profile=sides[0], before=sides[1] if len(sides) > 1 else None)


def changed(name: str, change: Change) -> Workload:
    """Return a bundled workload with the changes to its command and its ``[run]`` section."""
    workload = load_workload(WORKLOADS / name)
    words = tuple(change.command.get(word, word) for word in workload.run.command)
    run = workload.run.model_copy(update={"command": words, **change.run})
    return workload.model_copy(update={"run": run})


def _check_out(folder: Path, title: str) -> None:
    script = WORKLOADS / "copy_service/make_history.py"
    subprocess.run([sys.executable, script, folder], check=True, capture_output=True)
    command = ["git", "log", "--all", "--format=%H", "--grep", f"^{title}"]
    commits = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["git", "checkout", "-q", commits[0]], cwd=folder, check=True)


def _apply(folder: Path, patch: Mapping[str, str]) -> None:
    for before, after in patch.items():
        sources = [file for file in folder.iterdir() if file.suffix in {".c", ".cpp", ".f90"}]
        hit = [file for file in sources if before in file.read_text()]
        if len(hit) != 1:
            raise FaultwatchError(f"the patch fits {len(hit)} files of {folder.name}: {before[:60]!r}")
        hit[0].write_text(hit[0].read_text().replace(before, after))
