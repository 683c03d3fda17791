"""Finds the source lines of places in code."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from runner.contract import profile as contract
from runner.profile.anatomy import CodePlace
from runner.profile.compiled_code import is_compiled
from runner.profile.script_parser import ScriptFrame
from runner.profile.source_lines import SourceLine
from runner.profile.stack_folding import FrameTable, expand_inlined_frames


def locate_places(table: FrameTable, places: Iterable[CodePlace]) -> dict[CodePlace, contract.Frame]:
    """Return the frame of each place: its source line, and the innermost function that was inlined there."""
    places = set(places)
    offsets_by_module: dict[str, set[int]] = defaultdict(set)
    for place in places:
        if place.module.startswith("/") and place.offset and not is_compiled(place.module):
            offsets_by_module[place.module].add(place.offset)
    lines = {module: table.find_lines(module, offsets) for module, offsets in offsets_by_module.items()}
    return {place: _make_frame(place, lines.get(place.module, {})) for place in places}


def _make_frame(place: CodePlace, lines: Mapping[int, tuple[SourceLine, ...]]) -> contract.Frame:
    frame = ScriptFrame(place.offset, place.function, place.module)
    return expand_inlined_frames(frame, tuple(lines.get(place.offset, ())))[0]
