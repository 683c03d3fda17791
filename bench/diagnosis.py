"""Whether the diagnosis names what is wrong, from real profiles.

Run as ``make bench-diagnosis``. Each shipped workload's bad case must get the diagnosis of its report first and its
good case none, three times in a row; small programs with a planted trouble must get its rule, and their cured
neighbours not; profiles must count what the counters count; regressions whose place is known must
lead the differential table; a profile of half a million faults must be uploaded in 15 seconds, and a flame graph of
50,000 stacks open in one. A case that cannot run here is skipped and says why. ``python -m bench.diagnosis PART…`` runs
some parts (a workload's name, planted, culprits, speed, flame), ``--continue`` those that an interrupted run left. The
last line is one JSON object; the exit status is 1 where something does not hold. Mutations of the workloads and
programs that are well: ``python -m bench.verdicts diagnosis``.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from bench.diagnosis_cases import PAIRS, Pair
from bench.diagnosis_culprits import PLANTED, leads, zlib
from bench.diagnosis_flame import opening, with_stacks
from bench.diagnosis_planted import TROUBLES, Planted
from bench.diagnosis_programs import Program, workload_of
from bench.diagnosis_speed import fault_profile
from bench.diagnosis_yard import FAILURES, WORKLOADS, Yard
from bench.report import finish_report, show_steps
from runner.cli.measuring_setup import prepare_workbench
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.contract.profile import Profile
from runner.errors import FaultwatchError
from runner.measuring.trial import Bench
from runner.settings import load_settings
from runner.workload import Workload, load_workload
from runner.workload.remedy import apply_remedy
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.e2e.browser import chromium

TIMES = 3
AGREE = 0.001
LIMIT = 15.0
OPENS = 1.0
STATE = Path("build/bench-diagnosis.json")


@dataclass
class Ledger:
    """What was found, and what does not hold."""

    misses: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    worst: float = 0.0
    lost: int = 0
    profiles: int = 0


class CheckedYard(Yard):
    """Profiles cases, and compares what was recorded with what was counted."""

    def __init__(self, scratch: Path, bench: Bench, ledger: Ledger) -> None:
        super().__init__(scratch, bench)
        self._ledger = ledger

    def profile(self, workload: Workload, parameters: Mapping[str, str | int], tree: Path) -> Profile:
        """Profile a case; where nothing was lost, each fault must have been recorded."""
        profile = super().profile(workload, parameters, tree)
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
        return profile


def pair(yard: Yard, ledger: Ledger, about: Pair) -> None:
    """Profile a workload's bad and its good case, some times each."""
    workload = load_workload(WORKLOADS / about.workload)
    for which, parameters, expected in (("bad", about.bad, about.rule), ("good", about.good, None)):
        for turn in range(TIMES):
            name = f"{about.workload}, {which}, {turn + 1}"
            try:
                profile = yard.profile(workload, parameters, yard.tree(about.workload, {}, which))
            except FAILURES as error:
                _skip(ledger, name, error)
                break
            _judge(ledger, name, diagnose_profile(DiagnosisRequest(profile=profile)), expected)


def culprits(yard: Yard, ledger: Ledger) -> None:
    """Plant regressions whose place is known, and look what the differential table begins with."""
    workload = load_workload(WORKLOADS / "copy_service")
    before, after = (
        yard.profile(workload, {"mib": 8, "operations": 25}, yard.tree("copy_service", {}, which))
        for which in ("good", "bad")
    )
    _lead(ledger, "the demo", leads(before, after, "answer", {"copyserve.c": range(20, 30)}))
    sources = os.environ.get("FAULTWATCH_BENCH_ZLIB")
    if not sources:
        _skip(ledger, "zlib", FaultwatchError("FAULTWATCH_BENCH_ZLIB names no folder with its sources"))
        return
    plain = yard.scratch / "zlib"
    zlib(Path(sources), plain)
    workload = load_workload(plain)
    before = yard.profile(workload, {}, plain)
    for planted in PLANTED:
        folder = yard.scratch / f"zlib-{planted.function}"
        line = zlib(Path(sources), folder, planted)
        after = yard.profile(workload, {}, folder)
        lines = {planted.file: range(line - 1, line + 1)}
        _lead(ledger, f"zlib, {planted.title}", leads(before, after, planted.function, lines))


def _lead(ledger: Ledger, name: str, wrong: str) -> None:
    print(f"  {'WRONG' if wrong else 'right'}  {name}{': ' + wrong if wrong else ''}", flush=True)
    ledger.figures["culprits_lead"] = int(str(ledger.figures.get("culprits_lead", 0))) + (not wrong)
    if wrong:
        ledger.misses.append(f"{name}: {wrong}")


def planted(yard: Yard, ledger: Ledger) -> None:
    """Profile small programs in trouble and well; where a setting cures one, count what it leaves of the faults."""
    named = 0
    for about in TROUBLES:
        if missing := [words[0] for words in (about.build, about.run) if words and not _is_installed(words[0])]:
            _skip(ledger, about.title, FaultwatchError(f"{missing[0]} is not installed"))
            continue
        for is_well in (False, True):
            folder = yard.scratch / f"planted-{about.file}-{is_well}"
            folder.mkdir()
            (folder / about.file).write_text(about.source)
            if build := (is_well and about.well_build) or about.build:
                subprocess.run(build, cwd=folder, check=True, capture_output=True)
            arguments = ["well"] if is_well and not about.well_build else []
            workload = workload_of(Program(about.title, [*about.run, *arguments]), folder)
            diagnosis = diagnose_profile(DiagnosisRequest(profile=yard.profile(workload, {}, folder)))
            found = [finding.rule for finding in diagnosis.findings]
            right = (about.rule in found) != is_well
            named += right
            name = f"{about.title}, {'well' if is_well else 'in trouble'}"
            print(f"  {'right' if right else 'WRONG'}  {name}: {', '.join(found) or 'nothing'}", flush=True)
            if not right:
                ledger.misses.append(f"{name}: {', '.join(found) or 'nothing'}")
            if about.cure and not is_well:
                _cure(yard, ledger, about, workload, folder)
    ledger.figures["planted_right"] = named


def _cure(yard: Yard, ledger: Ledger, about: Planted, workload: Workload, folder: Path) -> None:
    """Count the faults with the setting that cures a program: at most half of them may be left."""
    assert about.cure is not None
    cured = apply_remedy(workload, dict([about.cure]))
    before, after = (yard.trial(one, {}, folder).execute().readings["page-faults"].value for one in (workload, cured))
    print(f"         {'='.join(about.cure)}: {before:,} → {after:,} faults", flush=True)
    if 2 * (after or 0) > (before or 0):
        ledger.misses.append(f"{about.title}: {'='.join(about.cure)} leaves {after} of {before} faults")


def _is_installed(program: str) -> bool:
    return program.startswith("./") or shutil.which(program) is not None


def speed(yard: Yard, ledger: Ledger) -> None:
    """Time one profile of half a million faults: recording, dissecting, folding and uploading."""
    workload = load_workload(WORKLOADS / "tensor_copy")
    parameters = {"mib": 4, "steps": 500, "allocator": "glibc", "buffer": "mapped"}
    seconds, cpu, faults = fault_profile(yard.trial(workload, parameters, yard.tree("tensor_copy", {})))
    ledger.figures |= {"profile_faults": faults, "profile_seconds": round(seconds, 2), "profile_cpu_seconds": cpu}
    print(f"one fault profile of {faults:,} faults: {seconds:.1f} s ({cpu:.1f} s of CPU)")
    if seconds > LIMIT:
        ledger.misses.append(f"a profile of {faults:,} faults took {seconds:.1f} s, not {LIMIT:g}")


def flame(yard: Yard, ledger: Ledger) -> None:
    """Time how a flame graph opens."""
    if chromium() is None:
        _skip(ledger, "flame graph", FaultwatchError("no Chromium is installed"))
        return
    workload = load_workload(WORKLOADS / "image_filter")
    parameters = {"width": 640, "height": 480, "images": 20, "temporaries": "row"}
    profile = yard.profile(workload, parameters, yard.tree("image_filter", {}))
    stored, seconds = opening(with_stacks(profile))
    ledger.figures |= {"flame_seconds": round(seconds, 2), "flame_stored_seconds": round(stored, 2)}
    print(f"a flame graph of 50,000 stacks: stored in {stored:.2f} s, opens in {seconds:.2f} s")
    if seconds > OPENS:
        ledger.misses.append(f"a flame graph of 50,000 stacks opens in {seconds:.2f} s, not {OPENS:g}")


def _judge(ledger: Ledger, name: str, diagnosis: Diagnosis, expected: str | None) -> None:
    found = [finding.rule for finding in diagnosis.findings]
    right = found[:1] == ([expected] if expected else [])
    print(f"  {'right' if right else 'WRONG'}  {name}: {', '.join(found) or 'nothing'}", flush=True)
    if not right:
        print("\n".join(f"         {line}" for line in diagnosis.evidence), flush=True)
        ledger.misses.append(f"{name}: {', '.join(found) or 'nothing'} instead of {expected or 'nothing'}")


def _skip(ledger: Ledger, name: str, error: Exception) -> None:
    print(f"  skips  {name}: {error}", flush=True)
    ledger.skipped.append(f"{name}: {error}")


PARTS: Mapping[str, Callable[[Yard, Ledger], None]] = {
    **{about.workload: partial(pair, about=about) for about in PAIRS},
    "planted": planted,
    "culprits": culprits,
    "speed": speed,
    "flame": flame,
}


def main(arguments: list[str]) -> None:
    """Run all parts, or those that are named; with `--continue` those that were not finished by the run before."""
    chosen = [name for name in PARTS if name in arguments] or list(PARTS)
    done = _kept() if "--continue" in arguments else {}
    began = time.monotonic()
    bench = prepare_workbench(load_settings()).bench
    for name in show_steps(chosen, "parts"):
        if name not in done:
            print(name, flush=True)
            done[name] = _part(name, bench)
            STATE.parent.mkdir(exist_ok=True)
            STATE.write_text(json.dumps({part: asdict(ledger) for part, ledger in done.items()}), encoding="utf-8")
    ledgers = [done[name] for name in chosen]
    figures: dict[str, object] = {
        "profiles": sum(one.profiles for one in ledgers),
        "profiles_with_losses": sum(one.lost for one in ledgers),
        "worst_disagreement_percent": round(100 * max(one.worst for one in ledgers), 4),
        "skipped": [line for one in ledgers for line in one.skipped],
        "seconds": round(time.monotonic() - began),
        "load": os.getloadavg()[0],
    }
    for one in ledgers:
        figures |= one.figures
    finish_report("diagnosis", [miss for one in ledgers for miss in one.misses], figures)


def _part(name: str, bench: Bench) -> Ledger:
    """Run a part; one that breaks does not take the others with it."""
    ledger = Ledger()
    # Below the working directory: a cold page cache needs a file system on storage, which /tmp is not everywhere.
    with tempfile.TemporaryDirectory(prefix=".diagnosis-", dir=Path.cwd()) as scratch:
        try:
            PARTS[name](CheckedYard(Path(scratch), bench, ledger), ledger)
        except Exception as error:
            traceback.print_exc()
            ledger.misses.append(f"{name} broke: {type(error).__name__}: {error}")
    return ledger


def _kept() -> dict[str, Ledger]:
    try:
        return {name: Ledger(**told) for name, told in json.loads(STATE.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError):
        return {}


if __name__ == "__main__":
    main(sys.argv[1:])
