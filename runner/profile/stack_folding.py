"""Folds recorded stacks: each stack once, with its weight. Pure except for the lookup of source lines."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field

from runner.contract import profile as contract
from runner.profile.compiled_code import is_compiled, parse_compiled_frame
from runner.profile.labels import cut_label
from runner.profile.recording_plan import CallGraph
from runner.profile.script_parser import Event, Lost, ScriptFrame, Stacked, Switched
from runner.profile.source_lines import SourceLine

FindLines = Callable[[str, Iterable[int]], Mapping[int, tuple[SourceLine, ...]]]
"""Finds the source lines at some offsets of a module."""
Key = TypeVar("Key", bound=Hashable)
KERNEL = "[kernel]"
_KERNEL_START = 1 << 63
_MAX_FRAMES = 500


class WeightedStacks(Struct):
    """Recorded stacks, innermost frame first, with their weights; those of waiting also with the number of waits."""

    stacks: Counter[tuple[ScriptFrame, ...]] = field(default_factory=Counter)
    samples: int = 0
    lost: int = 0
    waits: Counter[tuple[ScriptFrame, ...]] = field(default_factory=Counter)


def count_stacks(events: Iterable[Event]) -> WeightedStacks:
    """Count how often each stack was recorded."""
    weighted_stacks = WeightedStacks()
    for event in events:
        if isinstance(event, Stacked):
            weighted_stacks.stacks[event.frames] += 1
            weighted_stacks.samples += 1
        elif isinstance(event, Lost):
            weighted_stacks.lost += event.number
    return weighted_stacks


def sum_blocked_time(events: Iterable[Event]) -> WeightedStacks:
    """Add up the nanoseconds that threads were blocked off CPU, by stack.

    The time runs from leaving the CPU to returning to one, so it includes the wait for a free CPU after the wake-up.
    """
    weighted_stacks = WeightedStacks()
    stacks: dict[int, tuple[ScriptFrame, ...]] = {}
    left_at: dict[int, float] = {}
    for event in events:
        match event:
            case Stacked():
                stacks[event.tid] = event.frames
                weighted_stacks.samples += 1
            case Switched(is_on_cpu=False):
                if event.preempted:
                    stacks.pop(event.tid, None)  # The thread could have continued, so it does not wait.
                else:
                    left_at[event.tid] = event.time
            case Switched(is_on_cpu=True):
                blocked_since, stack = left_at.pop(event.tid, None), stacks.pop(event.tid, None)
                if blocked_since is not None and stack is not None:
                    weighted_stacks.stacks[stack] += max(0, round((event.time - blocked_since) * 1e9))
                    weighted_stacks.waits[stack] += 1
            case Lost():
                weighted_stacks.lost += event.number
    return weighted_stacks


def divide_by_weights(weights: Mapping[Key, int], total: int) -> dict[Key, int]:
    """Distribute a total in proportion to weights, in whole numbers that add up to it exactly.

    What rounding down leaves goes to the largest remainders. Without weights, nothing is distributed.
    """
    weight_sum = sum(weights.values())
    if not weight_sum:
        return {}
    shares = {key: weight * total // weight_sum for key, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda key: -(weights[key] * total % weight_sum))
    for key in by_remainder[: total - sum(shares.values())]:
        shares[key] += 1
    return shares


def distribute_over_stacks(
    weights: Mapping[tuple[ScriptFrame, ...], int], total: int
) -> dict[tuple[ScriptFrame, ...], int]:
    """Distribute a total over stacks, in whole numbers that add up to it; stacks without a share are left out."""
    return {stack: share for stack, share in divide_by_weights(weights, total).items() if share}


class FrameTable(Struct):
    """The table of frames of a profile, each once."""

    find_lines: FindLines
    frames: list[contract.Frame] = field(default_factory=list)
    _indices: dict[contract.Frame, int] = field(default_factory=dict)

    def build_stack_profile(
        self,
        kind: contract.StackKind,
        weighted_stacks: WeightedStacks,
        total: int,
        *,
        period: int,
        call_graph: CallGraph,
        recorded_bytes: int,
    ) -> contract.StackProfile:
        """Return recorded stacks as a profile of one kind, whose weights add up to a total."""
        stacks = self.fold_stacks(distribute_over_stacks(weighted_stacks.stacks, total), weighted_stacks.waits)
        return contract.StackProfile(
            kind=kind,
            samples=weighted_stacks.samples,
            period=period,
            total=sum(stack.weight for stack in stacks),
            lost=weighted_stacks.lost,
            call_graph=call_graph,
            recorded_bytes=recorded_bytes,
            stacks=stacks,
        )

    def fold_stacks(
        self,
        weights: Mapping[tuple[ScriptFrame, ...], int],
        waits: Mapping[tuple[ScriptFrame, ...], int] = MappingProxyType({}),
    ) -> tuple[contract.Stack, ...]:
        """Return stacks as in the contract, heaviest first, with source lines and inlined functions.

        The frames of each are turned around, to the outermost first; of a deep stack, the innermost are kept.
        """
        lines_by_place = self._find_lines(weights)
        folded: Counter[tuple[int, ...]] = Counter()
        folded_waits: Counter[tuple[int, ...]] = Counter()
        for stack, weight in weights.items():
            frames: list[int] = []
            for frame, offset in _list_calls(stack):
                frames += [
                    self.add_frame(part)
                    for part in expand_inlined(frame, lines_by_place.get((frame.module, offset), ()))
                ]
            key = tuple(reversed(frames[:_MAX_FRAMES]))
            folded[key] += weight
            folded_waits[key] += waits.get(stack, 0)
        return tuple(
            contract.Stack(frames=frames, weight=weight, waits=folded_waits[frames] or None)
            for frames, weight in folded.most_common()
        )

    def add_frame(self, frame: contract.Frame) -> int:
        """Return the index of a frame in the table; add the frame if it is new."""
        if frame not in self._indices:
            self._indices[frame] = len(self.frames)
            self.frames.append(frame)
        return self._indices[frame]

    def _find_lines(self, stacks: Iterable[tuple[ScriptFrame, ...]]) -> dict[tuple[str, int], tuple[SourceLine, ...]]:
        """Return the source lines of all calls in some stacks, by module and offset."""
        offsets_by_module: dict[str, set[int]] = defaultdict(set)
        for stack in stacks:
            for frame, offset in _list_calls(stack):
                if frame.module.startswith("/") and not is_compiled(frame.module):
                    offsets_by_module[frame.module].add(offset)
        return {
            (module, offset): lines
            for module, offsets in offsets_by_module.items()
            for offset, lines in self.find_lines(module, offsets).items()
        }


def expand_inlined(frame: ScriptFrame, lines: tuple[SourceLine, ...]) -> list[contract.Frame]:
    """Return a frame and the functions inlined into it, innermost first. The outermost keeps perf's name."""
    if compiled := parse_compiled_frame(frame):
        return [compiled]
    module = frame.module if is_user_frame(frame) else KERNEL
    if not lines:
        return [contract.Frame(function=cut_label(frame.function), module=cut_label(module))]
    inlined = [(line.function, line) for line in lines[:-1]]
    outermost_function = lines[-1].function if frame.function == contract.UNKNOWN_FUNCTION else frame.function
    return [
        contract.Frame(
            function=cut_label(function), module=cut_label(module), file=cut_label(line.file), line=line.line
        )
        for function, line in [*inlined, (outermost_function, lines[-1])]
    ]


def is_user_frame(frame: ScriptFrame) -> bool:
    """Return whether a frame is of the program and its libraries, not of the kernel."""
    return frame.offset < _KERNEL_START


def make_relative(path: str, root: str) -> str:
    """Return a path relative to the work tree if it lies inside, because the tree's location differs between builds."""
    return path.removeprefix(root)


def _list_calls(stack: tuple[ScriptFrame, ...]) -> Iterable[tuple[ScriptFrame, int]]:
    """Yield each frame with the offset of its instruction; for a caller, of the call and not of the return address."""
    is_caller = False  # The innermost frame of the program, and the kernel's above it, were being executed.
    for frame in stack:
        is_of_program = is_user_frame(frame)
        yield frame, max(0, frame.offset - 1) if is_caller and is_of_program else frame.offset
        is_caller = is_caller or is_of_program
