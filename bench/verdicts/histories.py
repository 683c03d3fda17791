"""Made-up histories in which it is known what each commit measures, in memory and as real git repositories."""

import random
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from service.rules.bisect.graph import Node


@dataclass(slots=True)
class History:
    """Commits, parents before children, and the patches that they apply or revert.

    A commit has the effect of a patch if it contains a commit that applies it and none that reverts it: a patch that
    was picked to two branches counts once.
    """

    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    applies: dict[str, str] = field(default_factory=dict)
    reverts: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    _contained: dict[str, int] = field(default_factory=dict, repr=False)

    def contained(self, commit: str) -> int:
        """Return the ancestors of a commit and itself, as a bit set in the order of the commits."""
        if len(self._contained) != len(self.parents):
            self._contained = {}
            for place, (name, parents) in enumerate(self.parents.items()):
                self._contained[name] = 1 << place
                for parent in parents:
                    self._contained[name] |= self._contained[parent]
        return self._contained[commit]

    def between(self, old: str, new: str) -> list[str]:
        """Return what ``git rev-list old..new`` lists, parents before children."""
        new_only = self.contained(new) & ~self.contained(old)
        return [name for place, name in enumerate(self.parents) if new_only >> place & 1]

    def nodes(self, good: str, bad: str) -> tuple[Node, ...]:
        """Return the commits of a range."""
        return tuple(Node(commit=name, parents=self.parents[name]) for name in self.between(good, bad))

    def level(self, commit: str) -> int:
        """Return what a commit measures."""
        names, contained = list(self.parents), self.contained(commit)
        inside = [name for place, name in enumerate(names) if contained >> place & 1]
        gone = {self.reverts[name] for name in inside if name in self.reverts}
        held = {self.applies[name] for name in inside if name in self.applies} - gone
        return 1000 + sum(self.sizes[patch] for patch in held)


def grow_history(random_: random.Random, commits: int) -> History:
    """Return a history with short and long branches, merges of up to three, and criss-cross merges."""
    history = History({"c0": ()})
    heads = ["c0"]
    merging = random_.choice([0.05, 0.15, 0.3])
    for number in range(1, commits):
        name = f"c{number}"
        roll = random_.random()
        if roll < merging and len(heads) > 1:
            if random_.random() < 0.6:  # a branch is merged into the main line, and may live on
                merged = random_.sample(range(1, len(heads)), min(len(heads) - 1, 1 + (random_.random() < 0.15)))
                history.parents[name] = (heads[0], *dict.fromkeys(heads[index] for index in merged))
                ends = [index for index in merged if random_.random() < 0.7]
                heads = [head for index, head in enumerate(heads) if index not in ends]
                heads[0] = name
            else:  # a branch takes another one in
                first, second = random_.sample(range(len(heads)), 2)
                history.parents[name] = tuple(dict.fromkeys((heads[first], heads[second])))
                heads[first] = name
        elif roll < 2 * merging and len(heads) < 6:
            recent = list(history.parents)[-random_.choice([3, 20, 200]) :]
            history.parents[name] = (random_.choice(recent),)
            heads.append(name)
        else:
            index = 0 if random_.random() < 0.6 else random_.randrange(len(heads))
            history.parents[name] = (heads[index],)
            heads[index] = name
    return history


def ends(random_: random.Random, history: History) -> tuple[str, str]:
    """Return a good and a bad end with commits between them; the bad one descends from the good one."""
    names = list(history.parents)
    while True:
        bad = random_.choice(names[len(names) // 2 :])
        inside = [name for place, name in enumerate(names) if history.contained(bad) >> place & 1][:-1]
        good = random_.choice(inside[: max(1, len(inside) * 3 // 4)]) if inside else bad
        if good != bad:
            return good, bad


class GitHistory:
    """A history as a real repository."""

    def __init__(self, folder: Path, history: History) -> None:
        self._folder = folder
        self.git("init", "--quiet", "--bare", "--initial-branch=main", ".")
        places = {name: place + 1 for place, name in enumerate(history.parents)}
        lines: list[str] = []
        for name, parents in history.parents.items():
            place = places[name]
            lines += [f"commit refs/heads/{name}", f"mark :{place}", f"committer bench <bench@localhost> {place} +0000"]
            lines += [f"data {len(name)}", name]
            lines += [f"{'merge' if index else 'from'} :{places[parent]}" for index, parent in enumerate(parents)]
            lines.append("")
        stream = "\n".join([*lines, ""])
        self.git("fast-import", "--quiet", "--force", given=stream)
        rows = self.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
        self.hashes = dict(row.split() for row in rows)
        self._names = {commit: name for name, commit in self.hashes.items()}

    def rev_list(self, old: str, new: str) -> set[str]:
        """Return what ``git rev-list old..new`` lists."""
        return {self._names[row] for row in self.git("rev-list", f"{old}..{new}").split()}

    def git(self, *arguments: str, given: str | None = None) -> str:
        """Run git, and return its output."""
        result = subprocess.run(
            ["git", "-C", str(self._folder), *arguments], input=given, capture_output=True, text=True, check=True
        )
        return result.stdout


def read_repository(repository: Path, old: str, new: str) -> tuple[str, str, tuple[Node, ...]]:
    """Return the ends of a range of a real repository as hashes, and its commits."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True
        ).stdout

    rows = git("rev-list", "--topo-order", "--reverse", "--parents", f"{old}..{new}").splitlines()
    nodes = tuple(Node(commit=row.split()[0], parents=tuple(row.split()[1:])) for row in rows)
    good, bad = (git("rev-parse", f"{end}^{{commit}}").strip() for end in (old, new))
    return good, bad, nodes


def compute_levels(
    nodes: Sequence[Node], steps: Mapping[str, int], older: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return what each commit of a range measures if some of them move the metric.

    Parameters
    ----------
    older
        The levels of commits outside of the range, which its branches start from; 1,000 by default.
    """
    contained: dict[str, frozenset[str]] = {}
    found: dict[str, int] = {}
    for node in nodes:
        inside = frozenset({node.commit}).union(*(contained.get(parent, frozenset()) for parent in node.parents))
        contained[node.commit] = inside
        found[node.commit] = 1000 + sum(steps[name] for name in inside & steps.keys())
    return found | dict(older or {})


def shuffle_items(random_: random.Random, things: Iterable[str]) -> list[str]:
    """Return things in another order."""
    return random_.sample(found := list(things), len(found))
