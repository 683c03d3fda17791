"""Decides whether a small difference of a count is due to the two revisions, or only to the two builds.

A count that repeats is a property of one built program. If each build of the same revision has different bytes, a
difference of a few faults between two programs does not show that their revisions differ. So a small difference between
two revisions has to show in further builds too: all builds of one revision have to count more than all builds of the
other. Builds are compared by their levels, so a change that the levels do not show, for example an intermittent one,
stands.
"""

from __future__ import annotations

from runner.contract import MetricVerdict, Report, Verdict
from runner.contract.level import Number
from runner.contract.number_text import format_number
from runner.contract.other_builds import FURTHER_BUILDS, MAX_FAULTS_BETWEEN_BUILDS
from runner.contract.word_list import join_words
from service.rules.comparison.metric_decision import COUNTS
from service.rules.same_bytes import have_same_own_bytes, read_program_bytes


def decide_metric_by_other_builds(verdict: MetricVerdict, base: Report, head: Report) -> MetricVerdict:
    """Return the verdict on a metric with further builds taken into account, or a verdict that asks for them."""
    if not _may_be_build_difference(verdict, base, head):
        return verdict
    base_levels = _list_levels(verdict.base.level, verdict.metric, base)
    head_levels = _list_levels(verdict.head.level, verdict.metric, head)
    # The counts of the builds of the two revisions overlap.
    if min(base_levels) <= max(head_levels) and min(head_levels) <= max(base_levels):
        sentence = (
            f"The counts of these builds differ by {abs(verdict.change or 0):,}, but the counts of the two revisions' "
            f"builds overlap: base's builds have counts of {_format_counts(base_levels)}, head's of "
            f"{_format_counts(head_levels)}."
        )
        changes = {"verdict": Verdict.SAME, "direction": None, "same_because": "other builds", "sentence": sentence}
        return verdict.model_copy(update=changes)
    if _has_reproducible_builds(base) and _has_reproducible_builds(head):
        return verdict.model_copy(
            update={
                "sentence": f"{verdict.sentence} Further builds of base and head are byte-identical to the first ones."
            }
        )
    n_further_builds = min(len(base_levels), len(head_levels)) - 1
    if n_further_builds < FURTHER_BUILDS:
        sentence = f"{verdict.sentence} The change is certain only if further builds of both revisions show it as well."
        return verdict.model_copy(update={"needs_other_build": True, "sentence": sentence})
    sentence = f"{verdict.sentence} {n_further_builds} further builds of each revision show it as well."
    return verdict.model_copy(update={"sentence": sentence})


def _may_be_build_difference(verdict: MetricVerdict, base: Report, head: Report) -> bool:
    """Return whether other builds of two revisions may explain a change."""
    if verdict.verdict is not Verdict.CHANGED or verdict.rule not in COUNTS:
        return False
    change = verdict.change or 0
    is_small = abs(change) <= MAX_FAULTS_BETWEEN_BUILDS
    do_levels_show_it = ((verdict.head.level or 0) - (verdict.base.level or 0)) * change > 0
    is_same_build = have_same_own_bytes(read_program_bytes(base), read_program_bytes(head))
    return is_small and do_levels_show_it and not is_same_build and base.revision.commit != head.revision.commit


def _list_levels(level: Number | None, name: str, report: Report) -> list[Number]:
    """Return the levels of a revision's builds: of the measured build, and of the further ones."""
    return [level or 0, *(build.counted[name] for build in report.other_builds if name in build.counted)]


def _format_counts(levels: list[Number]) -> str:
    return join_words([format_number(level) for level in sorted(set(levels))])


def _has_reproducible_builds(report: Report) -> bool:
    """Return whether every further build of a revision has the same bytes as the measured build."""
    own_bytes = read_program_bytes(report).own
    return bool(own_bytes and report.other_builds) and all(
        build.own_bytes == own_bytes for build in report.other_builds
    )
