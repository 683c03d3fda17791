"""Draws a flame graph as text: a tree of functions, each with its share and a bar."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from runner.contract.function_names import shorten_name
from runner.contract.profile import Frame, Profile, StackProfile

_MIN_SHARE = 0.03
"""The smallest share of the weight with which a function has a line."""
_MAX_LINES = 24
_BAR_CHARACTERS = 20
_MAX_CHAIN_NAMES = 3
"""Names of a chain of functions that are written."""


class Node(Struct):
    """A function in its callers, with its weight."""

    name: str
    weight: int = 0
    children: dict[str, "Node"] = field(default_factory=dict)


def draw_flame(profile: Profile, stacks: StackProfile) -> Iterator[str]:
    """Yield the lines of a flame graph, the outermost function first; narrow functions are left out.

    Without any samples there are no lines.
    """
    root = build_flame(profile, stacks)
    if not root.weight:
        return
    lines = [*_draw_children(root, root.weight, 0)]
    yield from lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        yield f"… and {len(lines) - _MAX_LINES} more functions"


def build_flame(profile: Profile, stacks: StackProfile) -> Node:
    """Return the tree of all stacks; the weight of a function is that of all stacks that go through it."""
    root = Node("")
    names = [_name_frame(frame) for frame in profile.frames]
    for stack in stacks.stacks:
        node = root
        node.weight += stack.weight
        for index in stack.frames:
            name = names[index]
            node = node.children.setdefault(name, Node(name))
            node.weight += stack.weight
    return root


def _draw_children(node: Node, total: int, depth: int) -> Iterator[str]:
    """Yield a line for each function that a function calls, the heaviest first, each followed by its own callees."""
    for child in sorted(node.children.values(), key=lambda child: -child.weight):
        share = child.weight / total
        if share < _MIN_SHARE:
            break
        chain = _follow_chain(child)
        name = _name_chain([function.name for function in chain])
        bar = "█" * max(1, round(share * _BAR_CHARACTERS))
        yield f"{100 * share:5.1f} %  {bar:<{_BAR_CHARACTERS}}  {'  ' * depth}{name}"
        yield from _draw_children(chain[-1], total, depth + 1)


def _follow_chain(node: Node) -> list[Node]:
    """Return a function and those below it, as long as each passes its whole weight to a single callee.

    Such a chain is drawn as one line.
    """
    chain = [node]
    while len(chain[-1].children) == 1:
        callee = next(iter(chain[-1].children.values()))
        if callee.weight < node.weight:
            break
        chain.append(callee)
    return chain


def _name_chain(names: Sequence[str]) -> str:
    """Return the names of a chain, without the middle of a long one."""
    if len(names) > _MAX_CHAIN_NAMES:
        names = [names[0], "…", *names[-_MAX_CHAIN_NAMES + 1 :]]
    return " → ".join(names)


def _name_frame(frame: Frame) -> str:
    line = f" {frame.file.rpartition('/')[2]}:{frame.line}" if frame.line else ""
    return f"{shorten_name(frame.function)}{line}"
