"""Draws a flame graph as text: a tree of functions, each with its share and a bar."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_count
from runner.contract.profile import Frame, Profile, StackProfile

_MIN_SHARE = 0.03
"""The smallest share of the total weight with which a function gets a line."""
_MAX_LINES = 24
_BAR_CHARACTERS = 20
_MAX_CHAIN_NAMES = 3
"""The largest number of names that are written for a chain of functions."""


class Node(Struct):
    """A function that is called on a certain path, with its weight and its callees."""

    name: str
    weight: int = 0
    children: dict[str, "Node"] = field(default_factory=dict)


def draw_flame(profile: Profile, stacks: StackProfile) -> Iterator[str]:
    """Yield the lines of a flame graph, the outermost function first; nothing without samples.

    Functions with a small share are left out.
    """
    root = build_flame(profile, stacks)
    if not root.weight:
        return
    lines = [*_draw_children(root, root.weight, 0)]
    yield from lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        yield f"… and {format_count(len(lines) - _MAX_LINES, 'more function')}"


def build_flame(profile: Profile, stacks: StackProfile) -> Node:
    """Return the tree of all stacks. The weight of a function is the sum of all stacks that pass through it."""
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
    """Yield a line for each callee of a function, the heaviest first, followed by the lines of its own callees."""
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
    """Return a function and its descendants for as long as the whole weight passes on to a single callee.

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
    """Return the names of a chain of functions; the middle of a long chain is left out."""
    if len(names) > _MAX_CHAIN_NAMES:
        names = [names[0], "…", *names[-_MAX_CHAIN_NAMES + 1 :]]
    return " → ".join(names)


def _name_frame(frame: Frame) -> str:
    line = f" {frame.file.rpartition('/')[2]}:{frame.line}" if frame.line else ""
    return f"{shorten_name(frame.function)}{line}"
