"""Whether the diagnosis names what is wrong, from real profiles.

Run as ``make bench-diagnosis``. Each shipped workload's bad case must get the diagnosis of its report first and its
good case none, three times in a row; of twenty mutations that no rule knows at least eighteen must be right; profiles
must count what the counters count; and a profile of half a million faults must be ready in 15 seconds. A case that
cannot run here is skipped and says why. The last line is one JSON object; the exit status is 1 where something does not
hold.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.diagnosis_cases import MUTATIONS, PAIRS, Mutation, Pair
from bench.diagnosis_speed import fault_profile
from bench.report import finish
from runner.cli.common import workbench
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.contract.profile import Profile
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.page_cache import StaysWarm
from runner.perf.session import ExecutionFailure
from runner.profile.collect import collect
from runner.settings import load_settings
from runner.trial import Bench, Subject, Trial
from runner.workload import Workload, load_workload
from service.diagnose import diagnose

WORKLOADS = Path(__file__).parents[1] / "workloads"
TIMES = 3
RIGHT = 18
AGREE = 0.001
LIMIT = 15.0
REVISIONS = {"bad": "Give the buffer back", "good": "Refuse numbers"}
"""The demo's: its first regression, and the commit before."""
TROUBLE = (FaultwatchError, ExecutionFailure, StaysWarm, subprocess.CalledProcessError)


@dataclass
class Ledger:
    """What was found, and what does not hold."""

    misses: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    worst: float = 0.0
    lost: int = 0
    profiles: int = 0


class Yard:
    """Where workloads are built and profiled."""

    def __init__(self, scratch: Path, bench: Bench, ledger: Ledger) -> None:
        self._scratch = scratch
        self._bench = bench
        self._ledger = ledger
        self._trees: dict[tuple[str, ...], Path] = {}

    def tree(self, workload: str, patch: Mapping[str, str], which: str = "") -> Path:
        """Build a workload, once for each patch."""
        key = (workload, which, *patch)
        if key not in self._trees:
            folder = self._scratch / f"{workload}-{len(self._trees)}"
            if workload == "copy_service":
                script = WORKLOADS / "copy_service/make_history.py"
                subprocess.run([sys.executable, script, folder], check=True, capture_output=True)
                wanted = subprocess.run(
                    ["git", "log", "--all", "--format=%H", "--grep", f"^{REVISIONS[which]}"],
                    cwd=folder,
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.split()
                subprocess.run(["git", "checkout", "-q", wanted[0]], cwd=folder, check=True)
                subprocess.run(["make", "-s", "copyserve"], cwd=folder, check=True, capture_output=True)
            else:
                shutil.copytree(WORKLOADS / workload, folder)
                _apply(folder, patch)
                subprocess.run(["make", "-s"], cwd=folder, check=True, capture_output=True)
            self._trees[key] = folder
        return self._trees[key]

    def profile(self, workload: Workload, parameters: Mapping[str, str | int], tree: Path) -> tuple[Profile, Diagnosis]:
        """Profile a case and ask what it shows."""
        case = Case(workload=workload.workload.name, definition="0" * 16, parameters=dict(parameters))
        revision = Revision(commit="0" * 40, committed_at=datetime.now(UTC))
        trial = Trial(workload, Subject("bench", revision, case), self._bench, tree)
        if trial.obstacle:
            raise FaultwatchError(trial.obstacle)
        profile = collect(trial)
        self._check(profile)
        return profile, diagnose(DiagnosisRequest(profile=profile))

    def _check(self, profile: Profile) -> None:
        """Compare what was recorded with what was counted, where nothing was lost."""
        anatomy, stacks = profile.anatomy, profile.faults
        assert anatomy is not None
        assert stacks is not None
        self._ledger.profiles += 1
        self._ledger.lost += bool(anatomy.lost)
        if anatomy.counted and not anatomy.lost:
            off = abs(anatomy.counted - anatomy.recorded) / anatomy.counted
            self._ledger.worst = max(self._ledger.worst, off)
            if off > AGREE or stacks.total not in {0, anatomy.counted}:
                self._ledger.misses.append(f"{profile.case.name}: {anatomy.recorded} recorded of {anatomy.counted}")


def _apply(folder: Path, patch: Mapping[str, str]) -> None:
    for before, after in patch.items():
        hit = [file for file in folder.glob("*.c*") if file.is_file() and before in file.read_text()]
        if len(hit) != 1:
            raise FaultwatchError(f"the patch fits {len(hit)} files of {folder.name}: {before[:60]!r}")
        hit[0].write_text(hit[0].read_text().replace(before, after))


def _mutated(mutation: Mutation) -> Workload:
    """Put other words into the command, or another allocator."""
    workload = load_workload(WORKLOADS / mutation.workload)
    words = tuple(mutation.command.get(word, word) for word in workload.run.command)
    allocator = mutation.command.get("allocator", workload.run.allocator)
    run = workload.run.model_copy(update={"command": words, "allocator": allocator})
    return workload.model_copy(update={"run": run})


def pairs(yard: Yard, ledger: Ledger, only: set[str]) -> None:
    """Profile each workload's bad and good case."""
    for pair in PAIRS:
        if only and pair.workload not in only:
            continue
        workload = load_workload(WORKLOADS / pair.workload)
        for which, parameters, expected in (("bad", pair.bad, pair.rule), ("good", pair.good, None)):
            _repeat(yard, ledger, pair, workload, which, parameters, expected)


def _repeat(
    yard: Yard,
    ledger: Ledger,
    pair: Pair,
    workload: Workload,
    which: str,
    parameters: Mapping[str, str | int],
    expected: str | None,
) -> None:
    for turn in range(TIMES):
        name = f"{pair.workload}, {which}, {turn + 1}"
        try:
            _, diagnosis = yard.profile(workload, parameters, yard.tree(pair.workload, {}, which))
        except TROUBLE as error:
            _skip(ledger, name, error)
            return
        _judge(ledger, name, diagnosis, expected)


def mutations(yard: Yard, ledger: Ledger) -> None:
    """Profile the mutations."""
    right = 0
    for mutation in MUTATIONS:
        name = f"{mutation.workload}: {mutation.title}"
        try:
            _, diagnosis = yard.profile(
                _mutated(mutation), mutation.parameters, yard.tree(mutation.workload, mutation.patch)
            )
        except TROUBLE as error:
            _skip(ledger, name, error)
            continue
        right += _judge(ledger, name, diagnosis, mutation.rule, counts=False)
    ledger.figures["mutations_right"] = right
    ledger.figures["mutations"] = len(MUTATIONS)
    if right < RIGHT:
        ledger.misses.append(f"{right} of {len(MUTATIONS)} mutations are right, not {RIGHT}")


def speed(yard: Yard, ledger: Ledger, bench: Bench) -> None:
    """Time one profile of half a million faults: recording, dissecting and folding."""
    workload = load_workload(WORKLOADS / "tensor_copy")
    parameters = {"mib": 4, "steps": 500, "allocator": "glibc", "buffer": "mapped"}
    case = Case(workload="tensor_copy", definition="0" * 16, parameters=parameters)
    subject = Subject("bench", Revision(commit="0" * 40, committed_at=datetime.now(UTC)), case)
    trial = Trial(workload, subject, bench, yard.tree("tensor_copy", {}))

    seconds, cpu, faults = fault_profile(trial)
    ledger.figures |= {"profile_faults": faults, "profile_seconds": round(seconds, 2), "profile_cpu_seconds": cpu}
    print(f"one fault profile of {faults:,} faults: {seconds:.1f} s ({cpu:.1f} s of CPU)")
    if seconds > LIMIT:
        ledger.misses.append(f"a profile of {faults:,} faults took {seconds:.1f} s, not {LIMIT:g}")


def _judge(ledger: Ledger, name: str, diagnosis: Diagnosis, expected: str | None, *, counts: bool = True) -> bool:
    found = [finding.rule for finding in diagnosis.findings]
    right = found[:1] == ([expected] if expected else [])
    print(f"  {'right' if right else 'WRONG'}  {name}: {', '.join(found) or 'nothing'}", flush=True)
    if not right:
        print("\n".join(f"         {line}" for line in diagnosis.evidence), flush=True)
        if counts:
            ledger.misses.append(f"{name}: {', '.join(found) or 'nothing'} instead of {expected or 'nothing'}")
    return right


def _skip(ledger: Ledger, name: str, error: Exception) -> None:
    print(f"  skips  {name}: {error}", flush=True)
    ledger.skipped.append(f"{name}: {error}")


def main(arguments: list[str]) -> None:
    """Run all parts, or the named workloads' pairs only."""
    ledger = Ledger()
    began = time.monotonic()
    bench = workbench(load_settings(), examined=False).bench
    # Below the working directory: a cold page cache needs a file system on storage, which /tmp is not everywhere.
    with tempfile.TemporaryDirectory(prefix=".diagnosis-", dir=Path.cwd()) as scratch:
        yard = Yard(Path(scratch), bench, ledger)
        pairs(yard, ledger, set(arguments))
        if not arguments or arguments == ["mutations"]:
            mutations(yard, ledger)
            speed(yard, ledger, bench)
    ledger.figures |= {
        "profiles": ledger.profiles,
        "profiles_with_losses": ledger.lost,
        "worst_disagreement_percent": round(100 * ledger.worst, 4),
        "skipped": ledger.skipped,
        "seconds": round(time.monotonic() - began),
    }
    finish("diagnosis", ledger.misses, ledger.figures)


if __name__ == "__main__":
    main(sys.argv[1:])
