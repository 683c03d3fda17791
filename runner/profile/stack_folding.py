"""Folds recorded stacks: merges equal stacks into one with a weight, and chooses the source line of each frame."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field

from runner.contract import profile as contract
from runner.profile.compiled_code import is_compiled, parse_compiled_frame
from runner.profile.labels import cut_label
from runner.profile.perf_record_options import CallGraph
from runner.profile.script_parser import Event, Lost, ScriptFrame, Stacked, Switched
from runner.profile.source_lines import SourceLine

FindLines = Callable[[str, Iterable[int]], Mapping[int, tuple[SourceLine, ...]]]
"""Returns the source lines at offsets of a module."""
Key = TypeVar("Key", bound=Hashable)
KERNEL = "[kernel]"
KERNEL_START = 1 << 63
"""The lowest address that belongs to the kernel on 64-bit processors."""
_MAX_FRAMES = 500
"""The largest number of frames of a stack, inlined functions included: a recursion may be deeper."""


class WeightedStacks(Struct):
    """Recorded stacks, innermost frame first, with their weights.

    Attributes
    ----------
    stacks
        How many times each stack was recorded or, for waits, the nanoseconds for which threads waited in it.
    samples
        How many stacks were recorded.
    lost
        How many records perf lost for lack of space.
    waits
        How many times threads waited in each stack; empty if the stacks are not waits.
    """

    stacks: Counter[tuple[ScriptFrame, ...]] = field(default_factory=Counter)
    samples: int = 0
    lost: int = 0
    waits: Counter[tuple[ScriptFrame, ...]] = field(default_factory=Counter)


def count_stacks(events: Iterable[Event]) -> WeightedStacks:
    """Return how many times each stack was recorded."""
    weighted_stacks = WeightedStacks()
    for event in events:
        if isinstance(event, Stacked):
            weighted_stacks.stacks[event.frames] += 1
            weighted_stacks.samples += 1
        elif isinstance(event, Lost):
            weighted_stacks.lost += event.number
    return weighted_stacks


def sum_blocked_time(events: Iterable[Event]) -> WeightedStacks:
    """Return the nanoseconds for which threads were blocked off CPU, by stack.

    The time from leaving a CPU to returning to one is counted, including the wait for a free CPU after the wake-up.
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
                    stacks.pop(event.tid, None)  # The thread was preempted, so it is not blocked.
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


def divide_total_by_weights(weights: Mapping[Key, int], total: int) -> dict[Key, int]:
    """Distribute a total in proportion to weights, as whole numbers that add up to the total exactly.

    All shares are rounded down, and the rest goes to those with the largest remainders. Without weights, nothing is
    distributed.
    """
    weight_sum = sum(weights.values())
    if not weight_sum:
        return {}
    shares = {key: weight * total // weight_sum for key, weight in weights.items()}
    sorted_keys = sorted(weights, key=lambda key: -(weights[key] * total % weight_sum))
    for key in sorted_keys[: total - sum(shares.values())]:
        shares[key] += 1
    return shares


def distribute_total_over_stacks(
    weights: Mapping[tuple[ScriptFrame, ...], int], total: int
) -> dict[tuple[ScriptFrame, ...], int]:
    """Distribute a total over stacks, as whole numbers that add up to the total; leave out stacks whose share is 0."""
    return {stack: share for stack, share in divide_total_by_weights(weights, total).items() if share}


class FrameTable(Struct):
    """The table of a profile's distinct frames."""

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
        """Return recorded stacks as a profile of one kind, with weights that add up to ``total``."""
        stacks = self.fold_stacks(distribute_total_over_stacks(weighted_stacks.stacks, total), weighted_stacks.waits)
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
        """Return stacks in the form of the contract, heaviest first, with source lines and inlined functions.

        The frames of each stack are reversed, so that the outermost is first. Of a very deep stack, only the innermost
        frames are kept. Stacks that become equal are merged.

        Parameters
        ----------
        weights
            The weight of each recorded stack, whose innermost frame is the first.
        waits
            How many times a thread waited in each of them; empty if the stacks are not waits.
        """
        lines_by_place = self._find_lines(weights)
        folded_stacks: Counter[tuple[int, ...]] = Counter()
        folded_waits: Counter[tuple[int, ...]] = Counter()
        for stack, weight in weights.items():
            frames: list[int] = []
            for frame, offset in _list_calls(stack):
                frames += [
                    self.add_frame(part)
                    for part in expand_inlined_frames(frame, lines_by_place.get((frame.module, offset), ()))
                ]
            key = tuple(reversed(frames[:_MAX_FRAMES]))
            folded_stacks[key] += weight
            folded_waits[key] += waits.get(stack, 0)
        return tuple(
            contract.Stack(frames=frames, weight=weight, waits=folded_waits[frames] or None)
            for frames, weight in folded_stacks.most_common()
        )

    def add_frame(self, frame: contract.Frame) -> int:
        """Return the index of a frame in the table; add the frame if it is new."""
        if frame not in self._indices:
            self._indices[frame] = len(self.frames)
            self.frames.append(frame)
        return self._indices[frame]

    def _find_lines(self, stacks: Iterable[tuple[ScriptFrame, ...]]) -> dict[tuple[str, int], tuple[SourceLine, ...]]:
        """Return the source lines of all calls in the stacks, by module and offset."""
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


def expand_inlined_frames(frame: ScriptFrame, lines: tuple[SourceLine, ...]) -> list[contract.Frame]:
    """Return a frame and the functions inlined into it, innermost first. The outermost function keeps perf's name."""
    if compiled := parse_compiled_frame(frame):
        return [compiled]
    module = frame.module if is_user_frame(frame) else KERNEL
    if not lines:
        return [contract.Frame(function=cut_label(frame.function), module=cut_label(module))]
    inlined_frames = [(line.function, line) for line in lines[:-1]]
    outermost_function = lines[-1].function if frame.function == contract.UNKNOWN_FUNCTION else frame.function
    return [
        contract.Frame(
            function=cut_label(function), module=cut_label(module), file=cut_label(line.file), line=line.line
        )
        for function, line in [*inlined_frames, (outermost_function, lines[-1])]
    ]


def is_user_frame(frame: ScriptFrame) -> bool:
    """Return whether a frame belongs to the program or its libraries, not to the kernel."""
    return frame.offset < KERNEL_START


def _list_calls(stack: tuple[ScriptFrame, ...]) -> Iterable[tuple[ScriptFrame, int]]:
    """Yield each frame with the offset of its instruction: for a caller, that of the call, not the return address."""
    is_caller = False  # The innermost frame of the program and the kernel's frames are not callers.
    for frame in stack:
        is_of_program = is_user_frame(frame)
        yield frame, max(0, frame.offset - 1) if is_caller and is_of_program else frame.offset
        is_caller = is_caller or is_of_program
