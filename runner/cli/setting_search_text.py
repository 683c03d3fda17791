"""Reads what ``faultwatch bisect`` is told about settings, and writes what its search for settings has found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.campaigns.setting_difference import Difference, show_value
from runner.campaigns.setting_search import SETTINGS_PER_RUN, is_settable_per_run
from runner.cli.arguments import build_model
from runner.cli.formatting import format_quantity
from runner.contract.commit_search import NothingToFind
from runner.contract.level import compute_median
from runner.contract.number_text import capitalize_first_letter
from runner.contract.report import Outcome, Report
from runner.contract.setting_search import FoundSettings, MeasureSettings, SettingChange, SettingSearch
from runner.contract.word_list import join_words
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


def describe_run(state: SettingSearch, report: Report, metric: str) -> str:
    """Return a line with the result of a run and the settings that were changed."""
    changed_settings = state.answer.changed if isinstance(state.answer, MeasureSettings) else ()
    outcome = "could not be measured"
    if report.outcome is Outcome.MEASURED:
        outcome = format_quantity(metric, compute_median(report.list_values(metric)))
    return f"{outcome}  with {join_words(changed_settings) or 'nothing'} changed"


def describe_result(search: SettingSearch, difference: Difference, name: str) -> list[str]:
    """Return the result of a search as lines; none if the search has not ended.

    Parameters
    ----------
    name
        The metric that moved.
    """
    if isinstance(search.answer, NothingToFind):
        remark = capitalize_first_letter(difference.unsearched_remark)
        return [f"{search.answer.sentence} {remark}." if remark else search.answer.sentence]
    if not isinstance(search.answer, FoundSettings):
        return []
    changes = {setting.name: setting for setting in difference.settings}
    before, after = search.answer.before, search.answer.after
    lines = [f"{name}: {format_quantity(name, before, after)} → {format_quantity(name, after, before)}, caused by:"]
    for setting in search.answer.settings:
        line = f"  {setting}: {show_value(changes[setting].before)} → {show_value(changes[setting].after)}"
        value_without = search.answer.values_without.get(setting)
        # If there is only one cause, the value without it is the value before.
        if value_without is not None and len(search.answer.settings) > 1:
            line += f"; without it {format_quantity(name, value_without)}"
        lines.append(line)
    return lines


def build_document(search: SettingSearch, difference: Difference) -> dict[str, Any]:
    """Return the search and the settings that were not searched, in the form that ``--json`` prints."""
    fixed_settings = [setting.model_dump(mode="json") for setting in difference.fixed_settings]
    return search.model_dump(mode="json") | {"not_searched": fixed_settings}
