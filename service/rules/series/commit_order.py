"""The order of a subject's commits: git's topology. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heappush


@dataclass(frozen=True, slots=True)
class Commit:
    """What the order of commits depends on."""

    commit: str
    parents: tuple[str, ...]
    committed_at: datetime


def in_history_order(commits: Iterable[Commit]) -> list[str]:
    """Put commits in one order, oldest first: parents before children, and else by date, then by hash.

    The order depends on the set of commits only, not on the order in which they became known. A parent that is not
    among them has no say. Commits that are their own ancestors, which git cannot make, come last.
    """
    known = {entry.commit: entry for entry in commits}
    waits_for = {entry.commit: len(known.keys() & set(entry.parents)) for entry in known.values()}
    children = defaultdict(list)
    for entry in known.values():
        for parent in known.keys() & set(entry.parents):
            children[parent].append(entry.commit)

    ready = [(known[commit].committed_at, commit) for commit, parents in waits_for.items() if parents == 0]
    heapify(ready)
    ordered = []
    while ready:
        _, commit = heappop(ready)
        ordered.append(commit)
        for child in children[commit]:
            waits_for[child] -= 1
            if waits_for[child] == 0:
                heappush(ready, (known[child].committed_at, child))

    in_circles = known.keys() - set(ordered)
    return ordered + sorted(in_circles, key=lambda commit: (known[commit].committed_at, commit))
