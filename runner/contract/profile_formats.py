"""Writes stacks in the formats of other tools: folded stacks, speedscope's JSON, pprof's protocol buffer."""

import gzip
import json
from collections.abc import Callable, Mapping

from runner.contract import pprof
from runner.contract.profile import Frame, Profile, StackKind, StackProfile

UNITS = {
    StackKind.FAULTS: "count",
    StackKind.ON_CPU: "nanoseconds",
    StackKind.OFF_CPU: "nanoseconds",
    StackKind.RETURNED: "count",
    StackKind.REQUESTED: "count",
}


def format_stacks(profile: Profile, stacks: StackProfile, format_name: str) -> bytes:
    """Return the stacks in one of the formats of :data:`FORMATS`."""
    return FORMATS[format_name](profile, stacks)


def format_folded_stacks(profile: Profile, stacks: StackProfile) -> bytes:
    """Return folded stacks, the input of flame graph tools: a stack per line, outermost frame first, and its weight."""
    lines = (
        ";".join(_format_frame(profile.frames[index]) for index in stack.frames) + f" {stack.weight}"
        for stack in stacks.stacks
    )
    return ("\n".join(sorted(lines)) + "\n").encode() if stacks.stacks else b""


def format_speedscope(profile: Profile, stacks: StackProfile) -> bytes:
    """Return the file that https://www.speedscope.app opens; see its ``file-format-spec.ts``."""
    unit = UNITS[stacks.kind]
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": f"{profile.case.name}: {stacks.kind}",
        "exporter": f"faultwatch {profile.runner_version}",
        "activeProfileIndex": 0,
        "shared": {"frames": [_build_speedscope_frame(frame) for frame in profile.frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": str(stacks.kind),
                "unit": "none" if unit == "count" else unit,
                "startValue": 0,
                "endValue": stacks.total,
                "samples": [list(stack.frames) for stack in stacks.stacks],
                "weights": [stack.weight for stack in stacks.stacks],
            }
        ],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def encode_pprof(profile: Profile, stacks: StackProfile) -> bytes:
    """Return the compressed protocol buffer that ``go tool pprof`` opens."""
    unit = UNITS[stacks.kind]
    rows = [([profile.frames[index] for index in reversed(stack.frames)], stack.weight) for stack in stacks.stacks]
    # Leave out the modification time, so that the same profile always gives the same file.
    return gzip.compress(pprof.encode_profile(rows, str(stacks.kind), unit, profile.started_at), mtime=0)


FORMATS: Mapping[str, Callable[[Profile, StackProfile], bytes]] = {
    "folded": format_folded_stacks,
    "speedscope": format_speedscope,
    "pprof": encode_pprof,
}


def _format_frame(frame: Frame) -> str:
    """Return a frame as an element of a folded stack; separators in it are replaced."""
    name = frame.function.replace(";", ":")
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)


def _build_speedscope_frame(frame: Frame) -> dict[str, object]:
    """Return a frame in the form that speedscope reads."""
    entry: dict[str, object] = {"name": frame.function}
    if frame.file or frame.module:
        entry["file"] = frame.file or frame.module
    if frame.line:
        entry["line"] = frame.line
    return entry
