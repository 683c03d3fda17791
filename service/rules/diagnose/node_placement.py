"""Recognises memory that lies on another NUMA node than the threads that use it."""

from __future__ import annotations

import re

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_share
from runner.contract.profile import Touch
from service.rules.diagnose.profile_facts import OWN_MEMORY, Facts, compute_cpu_share
from service.rules.diagnose.rule import Rule

_COMPILER_SUFFIX = r"(?:\.(?:isra|part|constprop|cold)(?:\.\d+)?)*"
_MOVE_FUNCTION = re.compile(rf"migrate_misplaced_(?:transhuge_)?(?:page|folio){_COMPILER_SUFFIX}")
"""Functions that move a page, or a huge page, to the node that uses it."""
_BALANCING_FUNCTION = re.compile(
    r"(?:do_numa_page|do_huge_pmd_numa_page|numa_migrate_(?:check|prep)|numa_rebuild_single_mapping|task_numa_fault|"
    rf"task_numa_work|change_prot_numa){_COMPILER_SUFFIX}|" + _MOVE_FUNCTION.pattern
)
"""Functions of NUMA balancing: the scan that makes pages inaccessible, and the faults that show who uses them."""


def _compute_balancing_share(facts: Facts) -> float:
    return compute_cpu_share(facts.profile, _BALANCING_FUNCTION)


def _compute_move_share(facts: Facts) -> float:
    return compute_cpu_share(facts.profile, _MOVE_FUNCTION)


def _is_balanced(facts: Facts) -> bool:
    """Return whether the kernel balances the process's memory between several NUMA nodes."""
    settings = facts.profile.environment.settings
    # A list such as "0-1" or "0,2".
    has_several_nodes = any(separator in settings.get("numa.nodes", "") for separator in "-,")
    return has_several_nodes and facts.timed and _compute_balancing_share(facts) > 0


def _describe_balancing(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the cost of balancing, the part that moves pages, the nodes, and who touches pages first."""
    move_share = _compute_move_share(facts)
    return (
        f"{format_share(_compute_balancing_share(facts))} of the CPU time goes into NUMA balancing: the kernel makes "
        "pages inaccessible, and the next fault on each shows which node uses it",
        f"{format_share(move_share)} of the CPU time goes into moving pages to another node"
        if move_share
        else "no sample of the CPU time shows a page being moved to another node",
        f"the host has the nodes {facts.profile.environment.settings['numa.nodes']}; the cost of accesses to another "
        "node's memory is unknown",
        *facts.describe_top_site("of the first touches are", {Touch.FIRST}, OWN_MEMORY),
    )


def _suggest_placement(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that place memory where it is used; without moves, only the search itself can be saved."""
    own_placement = (
        Remedy(
            text="let each thread touch first the memory that it will use, with the same loop and the same schedule, "
            "and pin threads to processors (OMP_PROC_BIND=true)"
        ),
        Remedy(
            text="bind the process to one node (numactl --cpunodebind=0 --membind=0), or spread memory that all nodes "
            "use (numactl --interleave=all)"
        ),
    )
    without_search = Remedy(
        text="switch NUMA balancing off if the memory is placed well (sysctl kernel.numa_balancing=0)"
    )
    return (*own_placement, without_search) if _compute_move_share(facts) else (without_search,)


NUMA_BALANCING = Rule(
    name="numa-balancing",
    title="The kernel searches for the NUMA node that uses each page",
    condition=_is_balanced,
    max_saving=_compute_balancing_share,
    evidence=_describe_balancing,
    remedies=_suggest_placement,
    report="arrays that one thread initialises and all threads use: their pages lie on one node, and the kernel moves "
    "them while the program runs",
)
