"""Made-up histories, and oracles that measure them."""

from __future__ import annotations

from collections.abc import Mapping, Set

from hypothesis import strategies as st

from service.rules.bisect.graph import Node
from service.rules.bisect.question import Found, Measure, Observation, Question, Refused


def line(length: int) -> tuple[Node, ...]:
    return tuple(Node(commit=f"c{place}", parents=(f"c{place - 1}",)) for place in range(1, length + 1))


@st.composite
def graphs(draw: st.DrawFn, most: int = 14) -> tuple[Node, ...]:
    """Commits after ``c0`` that all end in the last one; each is made from up to three of those before it."""
    size = draw(st.integers(1, most))
    nodes: dict[str, tuple[str, ...]] = {}
    for place in range(1, size + 1):
        earlier = [f"c{number}" for number in range(place)]
        recent = earlier[-4:]
        parents = draw(st.lists(st.sampled_from(recent), min_size=1, max_size=3, unique=True))
        nodes[f"c{place}"] = tuple(parents)
    used = {parent for parents in nodes.values() for parent in parents}
    loose = [commit for commit in nodes if commit not in used and commit != f"c{size}"]
    nodes[f"c{size}"] = tuple(dict.fromkeys((*nodes[f"c{size}"], *loose)))
    return tuple(Node(commit=commit, parents=parents) for commit, parents in nodes.items())


def ancestors(nodes: tuple[Node, ...]) -> dict[str, set[str]]:
    ancestors_of: dict[str, set[str]] = {"c0": {"c0"}}
    for node in nodes:
        ancestors_of[node.commit] = {node.commit}.union(*(ancestors_of[parent] for parent in node.parents))
    return ancestors_of


def levels(nodes: tuple[Node, ...], steps: Mapping[str, int]) -> dict[str, int]:
    """Return what each commit measures: each step is felt by the commits that contain it."""
    return {
        commit: 100 + sum(size for culprit, size in steps.items() if culprit in contained)
        for commit, contained in ancestors(nodes).items()
    }


def lead(search, question: Question, truth: Mapping[str, int], failing: Set[str] = frozenset(), slots: int = 1):
    """Lead a search to its end; return its answer and what was measured, in order."""
    seen: list[Observation] = []
    while isinstance(answer := search(question, seen, slots), Measure):
        assert answer.commits, "a search that is not over has something to measure"
        assert len(seen) < 2000
        seen += [
            Observation(commit=commit, value=None if commit in failing else truth[commit]) for commit in answer.commits
        ]
    assert isinstance(answer, Found | Refused)
    return answer, seen
