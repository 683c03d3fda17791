from typing import Any

import pytest

from runner.contract.diagnosis import DiagnosisRequest, Finding
from runner.contract.profile import Frame, Profile, StackKind, Touch
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.profiles import FRAMES, MAIN, anatomy, profile, stacks

# As perf records them on kernels 5.10 to 6.12: the faults, the scan, and moves of pages and huge pages.
HINT_FAULT, SCAN, MOVE = range(len(FRAMES), len(FRAMES) + 3)


def make_profile(
    *, hint_faults: float = 0.0, scan: float = 0.0, moves: float = 0.0, nodes: str = "0-1", move: str = "", **kind: Any
) -> Profile:
    """Return a profile with shares of its CPU time in NUMA balancing."""
    frames = (
        *FRAMES,
        Frame(function="do_numa_page", module="[kernel.kallsyms]"),
        Frame(function="task_numa_work", module="[kernel.kallsyms]"),
        Frame(function=move or "migrate_misplaced_folio", module="[kernel.kallsyms]"),
    )
    rest = 1 - hint_faults - scan - moves
    weights = {
        (MAIN,): rest,
        (MAIN, HINT_FAULT): hint_faults,
        (MAIN, SCAN): scan,
        (MAIN, HINT_FAULT, MOVE): moves,
    }
    on_cpu = stacks(StackKind.ON_CPU, {frames: round(share * 1e9) for frames, share in weights.items()})
    settings = {"numa.nodes": nodes} if nodes else {}
    return profile(anatomy({Touch.FIRST: 9000}), frames=frames, on_cpu=on_cpu, settings=settings, **kind)


def find_balancing(made: Profile, before: Profile | None = None) -> list[Finding]:
    findings = diagnose_profile(DiagnosisRequest(profile=made, before=before)).findings
    return [finding for finding in findings if finding.rule == "numa-balancing"]


@pytest.mark.parametrize(
    "move", ["migrate_misplaced_page", "migrate_misplaced_transhuge_page.isra.0", "migrate_misplaced_folio"]
)
def test_memory_that_the_kernel_moves_between_nodes_is_named_with_who_touched_it_first(move: str) -> None:
    (finding,) = find_balancing(make_profile(hint_faults=0.1, scan=0.05, moves=0.25, move=move))
    assert finding.price == pytest.approx(0.4)
    assert finding.evidence[0].startswith("40\u202f% of the CPU time goes into NUMA balancing")
    assert finding.evidence[1] == "25\u202f% of the CPU time goes into moving pages to another node"
    assert "0-1" in finding.evidence[2]
    assert finding.evidence[3].startswith("9,000 of the first touches are in copy")
    assert "touch first" in finding.remedies[0].text
    assert any("--membind" in remedy.text for remedy in finding.remedies)


def test_a_search_that_moves_nothing_is_only_switched_off() -> None:
    (finding,) = find_balancing(make_profile(hint_faults=0.1, nodes="0,2"))
    assert "no sample" in finding.evidence[1]
    (remedy,) = finding.remedies
    assert "numa_balancing=0" in remedy.text


@pytest.mark.parametrize("nodes", ["0", ""])
def test_one_node_needs_no_placement(nodes: str) -> None:
    assert find_balancing(make_profile(hint_faults=0.4, nodes=nodes)) == []


def test_a_program_that_is_hardly_balanced_is_well() -> None:
    assert find_balancing(make_profile()) == []
    assert find_balancing(make_profile(scan=0.009)) == []


def test_only_more_balancing_than_before_explains_a_change() -> None:
    assert find_balancing(make_profile(moves=0.3), make_profile(moves=0.3)) == []
    assert find_balancing(make_profile(moves=0.3), make_profile(moves=0.02))
