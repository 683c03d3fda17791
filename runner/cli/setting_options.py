"""Parses the options of ``faultwatch bisect`` that say which settings to search: ``--settings`` and ``--change``."""

from __future__ import annotations

from pathlib import Path

from runner.campaigns.setting_search import SETTINGS_PER_RUN, is_settable_per_run
from runner.cli.arguments import build_model
from runner.contract.setting_search import SettingChange
from runner.errors import FaultwatchError
from runner.process_state.memory_group import MemoryGroup
from runner.workload.bound_case import parse_size


def parse_change(text: str) -> SettingChange:
    """Parse ``NAME=BEFORE..AFTER``; an empty side means that the setting is not set.

    Raises
    ------
    FaultwatchError
        The text does not have that form, or the setting cannot be changed for a single run.
    """
    name, separator, values = text.partition("=")
    before, dots, after = values.partition("..")
    if not separator or not dots:
        raise FaultwatchError(f"--change {text!r} does not have the form NAME=BEFORE..AFTER")
    if before == after:
        raise FaultwatchError(f"--change {text!r} changes nothing", "pass two different values, as NAME=BEFORE..AFTER")
    if not is_settable_per_run(name):
        raise FaultwatchError(
            f"--change {text!r}: {name} cannot be set for a single run",
            f"choose one of these: variable.NAME, parameter.NAME, build.NAME, {', '.join(sorted(SETTINGS_PER_RUN))}",
        )
    if name == MemoryGroup.setting:
        before, after = (str(parse_size(side)) if side not in {"", "none"} else "none" for side in (before, after))
    return build_model(SettingChange, name=name, before=before or None, after=after or None)


def split_change(text: str) -> tuple[str, str]:
    """Split ``BEFORE..AFTER``, each the path of a file or a run id.

    A path may contain two dots too, so the text is split where both sides are existing files, or else at the first
    dots.

    Raises
    ------
    FaultwatchError
        The text does not have two sides.
    """
    indices = [index for index in range(1, len(text) - 2) if text[index : index + 2] == ".."]
    splits = [(text[:index], text[index + 2 :]) for index in indices]
    existing_splits = [split for split in splits if all(Path(side).exists() for side in split)]
    if not splits:
        raise FaultwatchError(
            f"--settings {text!r} does not have the form BEFORE..AFTER",
            "pass two files from `faultwatch env --json`, or two run ids",
        )
    return (existing_splits or splits)[0]
