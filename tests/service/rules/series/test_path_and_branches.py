from __future__ import annotations

import random
from itertools import pairwise

from service.rules.series.candidate_commits import list_commits_between
from service.rules.series.find_drifts import find_drifts
from service.rules.series.path_and_branches import Branches, arrange_branches
from tests.service.rules.series.test_find_drifts import points


def graph(*edges: str, refs: tuple[str, ...] = ()) -> Branches:
    """A history as ``"r1"`` (a root) and ``"r2<r1"`` (a child of r1), parents first."""
    parents = {}
    for edge in edges:
        commit, _, older = edge.partition("<")
        parents[commit] = older.split(",") if older else []
    return Branches(parents, refs)


REBASED = graph("r0", "r1<r0", "r2<r1", "r3<r2", "r4<r1", "r5<r4", "r6<r5", refs=("r4", "r6"))
"""A branch r2, r3 that was rebased from r1 to r4, where it is r5, r6."""


def test_a_rewritten_branch_leaves_the_path() -> None:
    made = points("A0=549", "A1=549", "A2=549", "A3=949", "A4=549", "A5=549", "A6=949")
    trend = arrange_branches(made, REBASED)
    assert [point.revision for point in trend.path] == ["r0", "r1", "r4", "r5", "r6"]
    assert (trend.points_beside, [point.revision for point in trend.former_points]) == ((), ["r2", "r3"])
    (drift,) = find_drifts(trend, is_exact=True)
    assert drift.outer_revisions == ("r5", "r6")


def test_a_branch_that_a_ref_leads_to_is_judged_beside_the_newest() -> None:
    made = points("A0=549", "A1=549", "A2=549", "A3=949", "A4=549", "A5=549", "A6=549")
    trend = arrange_branches(made, graph("r0", "r1<r0", "r2<r1", "r3<r2", "r4<r1", "r5<r4", "r6<r5", refs=("r3", "r6")))
    assert [point.revision for point in trend.path] == ["r0", "r1", "r4", "r5", "r6"]
    assert [[point.revision for point in sequence] for sequence in trend.points_beside] == [["r0", "r1", "r2", "r3"]]


def test_the_newest_measured_branch_is_the_path_even_if_no_ref_leads_to_it() -> None:
    made = points("A0=1", "A1=1", "A4=1", "A2=1")
    assert [point.revision for point in arrange_branches(made, REBASED).path] == ["r0", "r1", "r2"]


def test_an_older_commit_that_is_measured_again_does_not_end_the_path() -> None:
    made = points("A0=1", "A1=1", "A4=1", "A5=1", "A1=1")
    assert [point.revision for point in arrange_branches(made, REBASED).path] == ["r0", "r1", "r1", "r4", "r5"]


def test_a_part_of_the_history_that_is_not_known_hides_nothing() -> None:
    # r5 was sent from a shallow clone: its parent is not known.
    known = graph("r0", "r1<r0", "r2<r1", "r5<unknown", "r6<r5", refs=("r0", "r6"))
    trend = arrange_branches(points("A1=1", "A2=1", "A5=1", "A6=1"), known)
    assert [point.revision for point in trend.path] == ["r1", "r2", "r5", "r6"]


def test_commits_without_parents_are_one_line() -> None:
    trend = arrange_branches(points("A0=1", "A1=1", "A2=2"), graph("r0", "r1", "r2"))
    assert [point.revision for point in trend.path] == ["r0", "r1", "r2"]


def test_the_newest_commits_of_a_single_line_are_arranged_without_the_history_before() -> None:
    chance = random.Random(7)
    n_single_lines = 0
    for _ in range(500):
        edges = ["r0"]
        for number in range(1, 10):
            parents = {
                f"r{max(0, number - chance.choice((1, 1, 1, 1, 2, 3)))}" for _ in range(chance.choice((1, 1, 2)))
            }
            edges.append(f"r{number}<{','.join(sorted(parents))}")
        oldest = chance.randrange(1, 9)
        newest_commits = graph(*edges[oldest:])
        if newest_commits.is_single_line:
            measured = points(*(f"A{chance.randrange(oldest, 10)}={chance.randrange(9)}" for _ in range(8)))
            refs = tuple(f"r{number}" for number in range(10) if not chance.randrange(3))
            assert arrange_branches(measured, newest_commits) == arrange_branches(measured, graph(*edges, refs=refs))
            n_single_lines += 1
    assert n_single_lines > 50


def test_two_lines_that_join_before_the_newest_commits_are_not_a_single_line() -> None:
    assert not graph("r2<r1", "r3<r1", "r4<r2").is_single_line
    assert graph("r2<r1", "r3<r2").is_single_line


def test_the_sides_of_a_merge_are_not_compared_with_each_other() -> None:
    merged = graph("r0", "r1<r0", "r2<r0", "r3<r1,r2", refs=("r3",))
    trend = arrange_branches(points("A0=1", "A1=1", "A2=1", "A3=1"), merged)
    assert [point.revision for point in trend.path] == ["r0", "r1", "r3"]
    assert [[point.revision for point in sequence] for sequence in trend.points_beside] == [["r0", "r2"]]


def test_the_path_goes_through_the_side_of_a_merge_that_was_measured() -> None:
    merged = graph("r0", "r1<r0", "r2<r1", "r3<r0", "r4<r3,r2", refs=("r4",))
    trend = arrange_branches(points("A0=1", "A1=1", "A2=1", "A3=1", "A4=1"), merged)
    assert [point.revision for point in trend.path] == ["r0", "r1", "r2", "r4"]


def test_in_merged_histories_no_commit_is_named_that_changed_nothing() -> None:
    chance = random.Random(3)
    n_found = 0
    for _ in range(150):
        # Grow a history with merges, in which some commits move the count.
        edges, parents, effects = ["r0"], {"r0": list[str]()}, {"r0": 0}
        for number in range(1, 14):
            tips = [commit for commit in parents if not any(commit in older for older in parents.values())]
            others = [commit for commit in parents if commit not in tips[-1:]]
            older = [tips[-1] if chance.random() < 0.6 or not others else chance.choice(others[-4:])]
            older += [tip for tip in tips if tip not in older][:1] if chance.random() < 0.4 else []
            parents[f"r{number}"] = older
            effects[f"r{number}"] = chance.choice((0, 0, 0, 0, 0, 0, 7, 300, -40))
            edges.append(f"r{number}<{','.join(older)}")
        contained = {commit: list_commits_between(parents, "", commit) for commit in parents}
        levels = {commit: 1000 + sum(effects[name] for name in contained[commit]) for commit in parents}
        measured = sorted(chance.sample(range(14), chance.choice((8, 14))))
        made = points(*(f"A{number}={levels[f'r{number}']}" for number in measured for _ in range(9)))
        trend = arrange_branches(made, graph(*edges, refs=("r13",)))

        for sequence in (trend.path, *trend.points_beside):
            for before, after in pairwise(sequence):
                assert before.revision in contained[after.revision]
        on_trend = {point.revision for point in trend.measured}
        assert on_trend == {f"r{number}" for number in measured} - {point.revision for point in trend.former_points}
        for drift in find_drifts(trend, is_exact=True):
            candidates = list_commits_between(parents, *drift.outer_revisions)
            change = drift.change.after - drift.change.before
            assert change == sum(effects[commit] for commit in candidates)
            n_found += len(candidates) == 1
    assert n_found > 50
