"""The canary: a program whose faults are known beforehand, counted before each session in the way everything is.

Where it counts wrong, nothing that this host counts can be trusted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.contract.trust import Canary, CanaryCount
from runner.execution.compilation import CompilationError, compile_program
from runner.perf.session import ExecutionFailure, count
from runner.state.process import ProcessState

_SOURCE, _HEADER = (Path(__file__).with_name(name) for name in ("canary.c", "faultwatch_region.h"))
KINDS = ("anonymous", "file", "copy-on-write", "huge")
_RETRIES = 2
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class CanaryOutcome:
    """What the canary says, or why it says nothing."""

    canary: Canary | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CanaryFaults:
    """One execution: the faults that each kind had to take, those that were counted, and kinds that cannot be had."""

    expected: dict[str, int]
    counted: int
    left_out: dict[str, str]


class CanaryNotCounted(Exception):
    """The canary could not be counted; says why."""


def count_canary(programs: Path) -> CanaryOutcome:
    """Count the canary.

    A wrong count is tried twice more, and both have to be right: a host that is wrong now and then is still found,
    while what disturbs one in many thousand counts would have to strike twice in a row to bar a good host.

    Parameters
    ----------
    programs
        Where the program is kept once it is built.
    """
    try:
        program = compile_program(_SOURCE, programs, headers=[_HEADER])
        return CanaryOutcome(judge_canary(lambda kinds: _count(program, kinds)))
    except (CompilationError, CanaryNotCounted, ExecutionFailure) as error:
        return CanaryOutcome(problem=f"it is not known whether this host counts right: {error}")


def judge_canary(faults_of: Callable[[Sequence[str]], CanaryFaults]) -> Canary:
    """Judge the canary by what is counted of some kinds; where all together are wrong, each is counted alone too."""
    first = faults_of(KINDS)
    left_out = first.left_out
    if left_out:  # what cannot be had may have been touched all the same
        first = faults_of([kind for kind in KINDS if kind not in left_out])
    together = _try_again(first, faults_of)
    alone = [] if together.holds else [_try_again(faults_of([kind]), faults_of) for kind in together.kinds]
    return Canary(counts=(together, *alone), left_out=left_out)


def _try_again(first: CanaryFaults, faults_of: Callable[[Sequence[str]], CanaryFaults]) -> CanaryCount:
    kinds, expected = tuple(first.expected), sum(first.expected.values())
    counted = [first.counted]
    if first.counted != expected:
        counted += [faults_of(kinds).counted for _ in range(_RETRIES)]
    return CanaryCount(kinds=kinds, expected=expected, counted=tuple(counted))


def _count(program: Path, kinds: Sequence[str]) -> CanaryFaults:
    command = [f"./{program.name}", *kinds]
    done = count(command, directory=program.parent, state=ProcessState(), timeout=_PATIENCE, region=True)
    reading = done.sample.readings["region:minor-faults"]
    if not isinstance(reading.value, int):
        raise CanaryNotCounted(f"the faults of a part of a program are not counted here: {reading.reason}")
    expected: dict[str, int] = {}
    left_out: dict[str, str] = {}
    for kind, faults, reason in ((*line.split(" ", 2), "")[:3] for line in done.output.splitlines()):
        if faults == "-":
            left_out[kind] = reason
        else:
            expected[kind] = int(faults)
    return CanaryFaults(expected, reading.value, left_out)
