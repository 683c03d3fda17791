"""Recognises that a program has lost or gained huge pages since an earlier profile."""

from __future__ import annotations

import re

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_amount, format_share
from service.rules.diagnose.profile_facts import HUGE_PAGE_POLICIES, OWN_MEMORY, Facts, compute_cpu_share
from service.rules.diagnose.rule import Rule

_HUGE_PAGES_METRIC = "cgroup:thp_fault_alloc"
_HUGE_PAGE_SETTINGS = ("process.huge_pages", "thp.enabled")
_MIN_FAULTS_FACTOR = 4
"""A change of huge pages matters if the number of faults changes by at least this factor; one replaces 512 pages."""
_MIN_AREA_FACTOR = 64
"""If the faults of an area of unchanged size differ by at least this factor, one side must have huge pages there."""
_MAX_AREA_GROWTH = 1.1
"""Two areas count as equally large if their sizes differ by at most this factor."""
_ADVICE, _COLLAPSE = "MADV_HUGEPAGE", "MADV_COLLAPSE"
_REFUSING_ADVICE, _FORBIDDING_CALL = "MADV_NOHUGEPAGE", "PR_SET_THP_DISABLE"
_HUGE_FAULT = re.compile(r"_*do_huge_pmd_anonymous_page|clear_huge_page")
_MIN_HUGE_STACKS = 5
"""If at least this many stacks were recorded in faults on huge pages, there are huge pages."""


def compare_huge_pages(before: Facts, after: Facts) -> int:
    """Return 1 if there are more huge pages than before, -1 if fewer, 0 if neither.

    Their number decides if the kernel counted them; otherwise the policy, the program's advice, the CPU time in faults
    on huge pages, or the faults in an area that is as large as before: the first of these that differs.
    """
    count_before, count_after = (facts.profile.find_value(_HUGE_PAGES_METRIC) for facts in (before, after))
    if count_before is not None and count_after is not None:
        return _compute_sign(count_after - count_before)
    old_policy, new_policy = before.huge_page_policy, after.huge_page_policy
    if old_policy and new_policy and old_policy != new_policy:
        return _compute_sign(HUGE_PAGE_POLICIES.index(new_policy) - HUGE_PAGE_POLICIES.index(old_policy))
    was_advised, is_advised = (
        _may_have_huge_pages(facts) and facts.count_advice(_ADVICE) > 0 for facts in (before, after)
    )
    if was_advised != is_advised:
        return 1 if is_advised else -1
    return _compare_huge_fault_time(before, after) or _compare_area_faults(before, after)


def _may_have_huge_pages(facts: Facts) -> bool:
    """Return whether the policy allows huge pages; if it requires advice, whether the program gives it.

    True if the policy or the advice is unknown.
    """
    if facts.huge_page_policy == "madvise":
        return facts.profile.census is None or any(facts.count_advice(name) for name in (_ADVICE, _COLLAPSE))
    return facts.may_have_huge_pages and facts.huge_page_policy != "never"


def _compare_huge_fault_time(before: Facts, after: Facts) -> int:
    """Return 1 if far more CPU time than before goes into faults on huge pages, -1 if far less, 0 if neither.

    The advice is not enough to decide, because it has no effect in a region that is too small or not aligned.
    """
    seconds_before, seconds_after = (
        compute_cpu_share(facts.profile, _HUGE_FAULT) * facts.cpu_seconds for facts in (before, after)
    )
    if _has_huge_fault_stacks(before) and seconds_before >= _MIN_FAULTS_FACTOR * seconds_after:
        return -1
    return 1 if _has_huge_fault_stacks(after) and seconds_after >= _MIN_FAULTS_FACTOR * seconds_before else 0


def _has_huge_fault_stacks(facts: Facts) -> bool:
    """Return whether enough CPU-time stacks are in faults on huge pages to show that there are huge pages."""
    on_cpu = facts.profile.on_cpu
    return on_cpu is not None and compute_cpu_share(facts.profile, _HUGE_FAULT) * on_cpu.samples >= _MIN_HUGE_STACKS


def _compare_area_faults(before: Facts, after: Facts) -> int:
    """Return 1 if the largest area of before has hardly a fault after, although it is as large; -1 for the opposite.

    The pages of such an area fault one by one on one side, and 512 at once on the other. This conclusion requires that
    huge pages were allowed: otherwise, an area with hardly a fault is a reserve that was hardly used. 0 if neither.
    """
    for few_faults, many_faults, sign in ((before, after, -1), (after, before, 1)):
        area = many_faults.largest_area
        if area is None or area.memory not in OWN_MEMORY or not _may_have_huge_pages(few_faults):
            continue
        for other_area in few_faults.anatomy.areas:
            smaller_size, larger_size = sorted((other_area.size, area.size))
            is_same_size = other_area.memory is area.memory and larger_size <= _MAX_AREA_GROWTH * smaller_size
            if is_same_size and 0 < _MIN_AREA_FACTOR * other_area.faults <= area.faults:
                return sign
    return 0


def _has_lost_huge_pages(facts: Facts) -> bool:
    """Return whether there are several times as many faults and fewer huge pages than before."""
    before = facts.before
    return (
        before is not None
        and 0 < _MIN_FAULTS_FACTOR * before.faults <= facts.faults
        and compare_huge_pages(before, facts) < 0
    )


def _has_gained_huge_pages(facts: Facts) -> bool:
    """Return whether there are several times fewer faults and more huge pages than before."""
    before = facts.before
    return (
        before is not None
        and before.faults >= _MIN_FAULTS_FACTOR * facts.faults > 0
        and compare_huge_pages(before, facts) > 0
    )


def _clears_huge_pages(facts: Facts) -> bool:
    """Return whether there are more huge pages than before, but hardly fewer faults, and these take longer."""
    before = facts.before
    return (
        before is not None
        and 0 < facts.faults <= _MAX_AREA_GROWTH * before.faults < _MIN_FAULTS_FACTOR * facts.faults
        and _has_huge_fault_stacks(facts)
        and compare_huge_pages(before, facts) > 0
    )


def _compute_slower_fault_share(facts: Facts) -> float | None:
    """Return the share of the CPU time by which faults take longer than before; None if it is unknown."""
    return None if facts.before is None else _compute_growth(facts.before, facts)


def _compute_faster_fault_share(facts: Facts) -> float | None:
    """Return the share of the CPU time before by which faults take less time now; None if it is unknown."""
    return None if facts.before is None else _compute_growth(facts, facts.before)


def _compute_growth(shorter: Facts, longer: Facts) -> float | None:
    """Return by how much longer the faults of ``longer`` take than those of ``shorter``, as a share of its CPU time.

    If ``shorter`` is too short to be sampled, all of its time counts as time in faults. None if the times are unknown.
    """
    if not longer.timed or not longer.cpu_seconds or not shorter.cpu_seconds:
        return None
    share_of_shorter = shorter.fault_cost_share if shorter.timed else 1.0
    return longer.fault_cost_share - share_of_shorter * shorter.cpu_seconds / longer.cpu_seconds


def _describe_huge_pages(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the faults, the huge pages and their policies, before and after."""
    assert facts.before is not None
    sides = (facts.before, facts)
    counts = [side.profile.find_value(_HUGE_PAGES_METRIC) for side in sides]
    settings = [side.profile.environment.settings for side in sides]
    advice_rows = []
    for name, words in (
        (_ADVICE, "calls to madvise"),
        (_REFUSING_ADVICE, "calls to madvise"),
        (_FORBIDDING_CALL, "calls to prctl"),
    ):
        number_before, number_after = (side.count_advice(name) for side in sides)
        if number_before != number_after:
            advice_rows.append(f"{words} with {name}: {number_before:,} → {number_after:,}")
    shares = [compute_cpu_share(side.profile, _HUGE_FAULT) for side in sides]
    return (
        f"{sides[0].faults:,} → {sides[1].faults:,} faults",
        *([f"huge pages allocated by faults: {counts[0]:,.0f} → {counts[1]:,.0f}"] if None not in counts else []),
        *advice_rows,
        *(
            [f"CPU time in faults on huge pages: {format_share(shares[0])} → {format_share(shares[1])}"]
            if any(shares)
            else []
        ),
        *(
            f"{name}: {settings[0].get(name, 'not set')} → {settings[1].get(name, 'not set')}"
            for name in _HUGE_PAGE_SETTINGS
            if settings[0].get(name) != settings[1].get(name)
        ),
    )


def _suggest_huge_pages(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that bring huge pages back; if the program still advises them, larger regions come first."""
    if facts.count_advice(_FORBIDDING_CALL):
        return (
            Remedy(
                text=f"do not forbid huge pages with prctl ({_FORBIDDING_CALL}), or do so only in processes that fork"
            ),
        )
    if facts.count_advice(_REFUSING_ADVICE) and not facts.count_advice(_ADVICE):
        return (Remedy(text=f"do not advise against huge pages for memory that is used densely ({_REFUSING_ADVICE})"),)
    is_advised = _may_have_huge_pages(facts) and facts.count_advice(_ADVICE) > 0
    size = format_amount(facts.page_size * facts.pages_per_huge_page)
    alignment = Remedy(
        text=f"allocate what belongs together as one region, aligned to {size}: MADV_HUGEPAGE has no effect on a "
        "smaller region"
    )
    return (
        *([alignment] if is_advised else []),
        Remedy(
            text="advise huge pages for the large regions (madvise MADV_HUGEPAGE), or change the host's policy",
            settings={"thp": "always"},
        ),
        Remedy(text="check whether memory is fragmented: /proc/buddyinfo, vm.compact_memory"),
    )


_REPORT = "one program: 5,862 faults without huge pages, 1,774 with them"

HUGE_PAGES_LOST = Rule(
    name="huge-pages",
    title="Huge pages were lost",
    condition=_has_lost_huge_pages,
    max_saving=_compute_slower_fault_share,
    evidence=_describe_huge_pages,
    remedies=_suggest_huge_pages,
    report=_REPORT,
    is_comparison=True,
)

HUGE_PAGES_GAINED = Rule(
    name="huge-pages",
    title="Huge pages were gained",
    condition=_has_gained_huge_pages,
    max_saving=_compute_faster_fault_share,
    evidence=_describe_huge_pages,
    remedies=lambda _: (Remedy(text="nothing to fix; setting huge_pages in a workload file makes counts repeatable"),),
    report=_REPORT,
    is_comparison=True,
)

HUGE_PAGES_CLEARED = Rule(
    name="huge-pages",
    title="Huge pages are cleared, and hardly save a fault",
    condition=_clears_huge_pages,
    max_saving=_compute_slower_fault_share,
    evidence=_describe_huge_pages,
    remedies=lambda _: (
        Remedy(
            text="advise huge pages only for memory that is used densely, and MADV_NOHUGEPAGE for the rest: the kernel "
            "clears a whole huge page at its first touch",
            settings={"thp": "never"},
        ),
    ),
    report=_REPORT,
    is_comparison=True,
)


def _compute_sign(number: float) -> int:
    return (number > 0) - (number < 0)
