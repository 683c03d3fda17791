"""Compares two profiles: which functions, lines and stacks have more or fewer faults than before."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from runner.contract.own_frame import find_own_frame
from runner.contract.profile import Frame, Profile, StackProfile

_MAX_LINE_PAIRS = 250_000
"""The largest number of pairs of lines of one function that are tried, which takes a fraction of a second."""
_BOTH, _OLD_ONLY, _NEW_ONLY = range(3)
_STEPS = ((1, 1), (1, 0), (0, 1))
"""Steps through the lines of a function: how many old and new lines each consumes."""


class FunctionKey(NamedTuple):
    """The key of a function: its name, the file name of its module, and its source file."""

    function: str
    module: str
    file: str


class FunctionLine(NamedTuple):
    """A line of a function: its numbers before and after, because it may have moved; 0 if there is no such line."""

    function_key: FunctionKey
    line_before: int
    line_after: int


class WeightChange(NamedTuple):
    """The weight of a line or a stack before and after."""

    before: int
    after: int

    @property
    def growth(self) -> int:
        """The growth of the weight; negative if it shrank."""
        return self.after - self.before


class StackChange(NamedTuple):
    """A stack, outermost frame first, with its weight on both sides."""

    frames: tuple[Frame, ...]
    change: WeightChange


def compare_lines(before: Profile, after: Profile, kind: str = "faults") -> list[tuple[FunctionLine, WeightChange]]:
    """Return the subject's lines with the changes of their weights, the largest change first.

    The weight of a library or of the kernel counts for the line of the subject that called it. The lines of a function
    are paired in their order, so that code which has only moved is unchanged. Changes that sampling alone can explain
    are left out.

    Parameters
    ----------
    kind
        The stacks that are compared: ``faults``, ``on-cpu`` or ``off-cpu``.
    """
    lines_before = _sum_lines(before, _get_stacks(before, kind))
    lines_after = _sum_lines(after, _get_stacks(after, kind))
    resolution = max(compute_resolution(profile, kind) for profile in (before, after))
    changes = [
        (function_line, change)
        for function_line, change in pair_function_lines(lines_before, lines_after)
        if abs(change.growth) > resolution
    ]

    def rank_change(row: tuple[FunctionLine, WeightChange]) -> tuple[int, int, FunctionLine]:
        """Return a sort key: the largest change first; growth before an equally large decline."""
        function_line, change = row
        return -abs(change.growth), -change.growth, function_line

    return sorted(changes, key=rank_change)


def pair_function_lines(
    before: Mapping[FunctionKey, Mapping[int, int]], after: Mapping[FunctionKey, Mapping[int, int]]
) -> list[tuple[FunctionLine, WeightChange]]:
    """Pair the lines of each function in order; return the change of each pair's weight."""
    changes = []
    for function_key in before.keys() | after.keys():
        pairs = _pair_lines(before.get(function_key, {}), after.get(function_key, {}))
        changes += [(FunctionLine(function_key, *pair), change) for pair, change in pairs]
    return changes


def compare_stacks(before: Profile, after: Profile, kind: str = "faults") -> list[StackChange]:
    """Return the stacks that changed, sorted by growth: the largest growth first, the largest decline last.

    Two stacks are the same if they have the same functions, regardless of the lines. The returned lines are those after
    the change.

    Parameters
    ----------
    kind
        The stacks that are compared: ``faults``, ``on-cpu`` or ``off-cpu``.
    """
    weights_before: Counter[tuple[FunctionKey, ...]] = Counter()
    weights_after: Counter[tuple[FunctionKey, ...]] = Counter()
    frames_by_stack: dict[tuple[FunctionKey, ...], tuple[Frame, ...]] = {}
    for profile, weights in ((before, weights_before), (after, weights_after)):
        functions = [identify_function(frame) for frame in profile.frames]
        stacks = _get_stacks(profile, kind)
        for stack in stacks.stacks if stacks else ():
            key = tuple(functions[index] for index in stack.frames)
            weights[key] += stack.weight
            frames_by_stack[key] = tuple(profile.frames[index] for index in stack.frames)
    changes = [
        StackChange(frames, WeightChange(weights_before[key], weights_after[key]))
        for key, frames in frames_by_stack.items()
    ]
    resolution = max(compute_resolution(profile, kind) for profile in (before, after))
    changes = [stack for stack in changes if abs(stack.change.growth) > resolution]
    return sorted(changes, key=lambda stack: -stack.change.growth)


def compute_resolution(profile: Profile, kind: str) -> int:
    """Return the largest difference that sampling alone can explain: the weight of two recorded stacks.

    It is 0 if every event was recorded and none was lost, or if no event was recorded.
    """
    stacks = _get_stacks(profile, kind)
    if stacks is None or not stacks.samples or (stacks.period == 1 and not stacks.lost):
        return 0
    weight_of_stack = -(-stacks.total // stacks.samples)  # rounded up
    return 2 * weight_of_stack


def _get_stacks(profile: Profile, kind: str) -> StackProfile | None:
    """Return the stack profile of a kind, such as ``on-cpu``; None if none was recorded."""
    stacks: StackProfile | None = getattr(profile, kind.replace("-", "_"))
    return stacks


def _sum_lines(profile: Profile, stacks: StackProfile | None) -> defaultdict[FunctionKey, Counter[int]]:
    """Return the sums of the stacks' weights, by the innermost function and line of the subject's own code."""
    lines: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
    for stack in stacks.stacks if stacks else ():
        frame = find_own_frame([profile.frames[index] for index in stack.frames])
        if frame is not None:
            lines[identify_function(frame)][frame.line] += stack.weight
    return lines


def identify_function(frame: Frame) -> FunctionKey:
    """Return a function's key without the path of its module, which differs from build to build."""
    return FunctionKey(frame.function, frame.module.rpartition("/")[2], frame.file)


def _pair_lines(before: Mapping[int, int], after: Mapping[int, int]) -> list[tuple[tuple[int, int], WeightChange]]:
    """Pair the lines of a function in their order at the least total cost, by dynamic programming.

    The cost of a pair is that of :func:`_compute_pairing_cost`. A line without a counterpart is paired with line 0, of
    weight 0. Each argument contains the weights by line. If the function has too many lines to try, as generated code
    may have, lines with the same number are paired.
    """
    if len(before) * len(after) > _MAX_LINE_PAIRS:
        return [
            ((line if line in before else 0, line if line in after else 0), _compare_weights(before, after, line))
            for line in sorted(before.keys() | after.keys())
        ]
    old_lines, new_lines = sorted(before.items()), sorted(after.items())
    n_columns = len(new_lines) + 1
    # `best_steps[i * n_columns + j]` is the first step of the cheapest pairing of the old lines from i on with the new
    # lines from j on, as an index of `_STEPS`. `costs[j]` is the cost of this pairing for the current i.
    best_steps = bytearray((len(old_lines) + 1) * n_columns)
    costs = [0.0] * n_columns
    for j in range(len(new_lines) - 1, -1, -1):
        costs[j] = new_lines[j][1] + costs[j + 1]
        best_steps[len(old_lines) * n_columns + j] = _NEW_ONLY
    for i in range(len(old_lines) - 1, -1, -1):
        old_weight = old_lines[i][1]
        costs_below, costs = costs, [0.0] * n_columns
        costs[len(new_lines)] = old_weight + costs_below[len(new_lines)]
        best_steps[i * n_columns + len(new_lines)] = _OLD_ONLY
        for j in range(len(new_lines) - 1, -1, -1):
            new_weight = new_lines[j][1]
            cost, step = _compute_pairing_cost(old_weight, new_weight) + costs_below[j + 1], _BOTH
            if old_weight + costs_below[j] < cost:
                cost, step = old_weight + costs_below[j], _OLD_ONLY
            if new_weight + costs[j + 1] < cost:
                cost, step = new_weight + costs[j + 1], _NEW_ONLY
            costs[j] = cost
            best_steps[i * n_columns + j] = step
    # Follow the best steps from the first lines to the last.
    pairs = []
    i = j = 0
    while (i, j) != (len(old_lines), len(new_lines)):
        old_step, new_step = _STEPS[best_steps[i * n_columns + j]]
        line_before, weight_before = old_lines[i] if old_step else (0, 0)
        line_after, weight_after = new_lines[j] if new_step else (0, 0)
        pairs.append(((line_before, line_after), WeightChange(weight_before, weight_after)))
        i, j = i + old_step, j + new_step
    return pairs


def _compare_weights(before: Mapping[int, int], after: Mapping[int, int], line: int) -> WeightChange:
    return WeightChange(before.get(line, 0), after.get(line, 0))


def _compute_pairing_cost(before: int, after: int) -> float:
    """Return the cost of pairing an old line with a new one, given their positive weights: the lower, the more similar.

    It is always lower than the cost of leaving both unpaired, which is the sum of their weights. The first term ranks
    similar lines. The second limits the cost for lines that differ by more, so that pairing them stays cheaper.
    """
    return min(1.5 * abs(after - before), before + after - min(before, after) / 2)
