"""Whether a diagnosis is right: forty drawn mutations whose answer is known, forty real programs that are well."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.diagnosis_mutations import draw_mutations
from bench.diagnosis_programs import WINS, draw_programs, make_inputs, won, workload_of
from bench.diagnosis_yard import FAILURES, Yard
from runner.cli.measuring_setup import prepare_workbench
from runner.contract.diagnosis import DiagnosisRequest
from runner.settings import load_settings
from service.rules.diagnose.diagnosis import diagnose_profile

LEAST_RIGHT = 38
PROGRAMS = 40


def run(seed: int) -> tuple[Mapping[str, object], list[str]]:
    """Return the figures, and what does not hold.

    The answers to the mutations are written to ``build/`` before the first one is profiled.
    """
    Path("build").mkdir(exist_ok=True)
    answers = [{"mutation": f"{one.workload}: {one.title}", "answer": one.rule} for one in draw_mutations(seed)]
    Path(f"build/diagnosis-answers-{seed}.json").write_text(json.dumps(answers, indent=1), encoding="utf-8")
    # Below the working directory: a cold page cache needs a file system on storage, which /tmp is not everywhere.
    with tempfile.TemporaryDirectory(prefix=".diagnosis-", dir=Path.cwd()) as scratch:
        yard = Yard(Path(scratch), prepare_workbench(load_settings()).bench)
        figures, misses = _check_mutations(yard, seed)
        of_programs, more = _check_programs(yard, seed)
    return {**figures, **of_programs}, misses + more


def _check_mutations(yard: Yard, seed: int) -> tuple[dict[str, object], list[str]]:
    wrong, failed = [], []
    drawn = draw_mutations(seed)
    for mutation in drawn:
        name = f"{mutation.workload}: {mutation.title}"
        try:
            diagnosis = diagnose_profile(yard.request(mutation))
        except FAILURES as error:
            failed.append(f"{name}: {error}")
            print(f"  fails  {failed[-1]}", flush=True)
            continue
        found = [finding.rule for finding in diagnosis.findings]
        right = found[:1] == ([mutation.rule] if mutation.rule else [])
        print(f"  {'right' if right else 'WRONG'}  {name}: {', '.join(found) or 'nothing'}", flush=True)
        if not right:
            wrong.append(f"{name}: {', '.join(found) or 'nothing'} instead of {mutation.rule or 'nothing'}")
            print("\n".join(f"         {line}" for line in diagnosis.evidence), flush=True)
    right = len(drawn) - len(wrong) - len(failed)
    figures = {"mutations": len(drawn), "mutations_right": right, "wrong": wrong, "mutations_failed": failed}
    short = f"{right} of {len(drawn)} mutations are right, not {LEAST_RIGHT}"
    return figures, [short] if right < LEAST_RIGHT else []


def _check_programs(yard: Yard, seed: int) -> tuple[dict[str, object], list[str]]:
    named, wrong, failed = [], [], []
    folder = yard.scratch / "inputs"
    folder.mkdir()
    make_inputs(folder, seed)
    drawn = draw_programs(seed, PROGRAMS)
    for program in drawn:
        try:
            workload = workload_of(program, folder)
            diagnosis = diagnose_profile(DiagnosisRequest(profile=yard.profile(workload, {}, folder)))
            wins = [(finding, won(yard, workload, folder, finding)) for finding in diagnosis.findings]
        except FAILURES as error:
            failed.append(f"{program.name}: {error}")
            print(f"  fails  {failed[-1]}", flush=True)
            continue
        for finding, share in wins:
            gain = "not measurable" if share is None else f"{share:.1%} won"
            named.append(f"{program.name}: {finding.rule} at up to {finding.price:.0%}, {gain}")
            if share is None or share < WINS:
                wrong.append(named[-1])
        said = named[len(named) - len(wins) :]
        print(
            f"  {'WRONG' if set(said) & set(wrong) else 'right'}  {program.name}: {'; '.join(said) or 'nothing'}",
            flush=True,
        )
    figures = {
        "programs": len(drawn) - len(failed),
        "programs_named": named,
        "programs_wrong": len(wrong),
        "programs_failed": failed,
    }
    misses = [f"a remedy wins nothing: {line}" for line in wrong]
    if len(drawn) - len(failed) < PROGRAMS:
        misses.append(f"{len(drawn) - len(failed)} programs were profiled, not {PROGRAMS}")
    return figures, misses
