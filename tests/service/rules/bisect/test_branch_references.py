"""The commits with which those of merged branches are compared."""

from service.rules.bisect.branch_references import BranchReferences
from service.rules.bisect.graph import Graph, Node


def graph(*rows: str) -> Graph:
    """Rows such as ``m: c1 b1``; the range begins after ``c0``."""
    nodes = [Node(commit=row.split(":")[0], parents=tuple(row.split(":")[1].split())) for row in rows]
    return Graph("c0", nodes[-1].commit, nodes)


def references(of: Graph, old: str, measured=(), innocent=()) -> BranchReferences:
    suspects = of.collect_ancestry(of.bad) & ~of.collect_ancestry(old)
    harmless = sum(1 << of.index_of[commit] for commit in innocent)
    return BranchReferences(of, old, suspects, measured, innocent_commits=harmless, known_effects=harmless)


def test_a_commit_of_the_line_is_compared_with_the_older_end_and_one_of_a_branch_with_its_start():
    of = graph("c1: c0", "c2: c1", "b1: c1", "b2: b1", "m: c2 b2", "c3: m")
    found = references(of, "c2")
    assert found.find_reference("c3") == "c2"
    assert found.find_reference("b2") == "c1"
    assert references(of, "c2", measured=["b1"]).find_reference("b2") == "b1"


def test_a_branch_older_than_the_range_is_compared_with_its_own_commits_only():
    of = graph("c1: c0", "b1: before", "b2: b1", "b3: b2", "m: c1 b3")
    found = references(of, "c1")
    assert found.find_reference("b3") is None
    assert found.choose_most_useful_commit(of.collect_ancestry("b3"), lambda commit: True) == "b1"
    assert references(of, "c1", measured=["b1"]).find_reference("b3") == "b1"


def test_a_branch_that_merged_older_commits_cannot_be_compared_across_that_merge():
    of = graph("c1: c0", "b1: before", "b2: b1", "b3: b2 later", "b4: b3", "m: c1 b4")
    found = references(of, "c1", measured=["b1", "b3"])
    assert found.find_reference("b2") == "b1"
    assert found.find_reference("b3") is None
    assert found.find_reference("b4") == "b3"


def test_criss_cross_merges_have_a_start_if_the_rest_moved_nothing():
    of = graph("c1: c0", "d1: c0", "c2: c1 d1", "b1: d1 c1", "m: c2 b1")
    assert references(of, "c2").find_reference("b1") is None
    assert references(of, "c2", innocent=["c1"]).find_reference("b1") == "d1"
