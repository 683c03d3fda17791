"""Writes what the search of ``faultwatch bisect`` for settings has found."""

from __future__ import annotations

from typing import Any

from runner.campaigns.setting_difference import Difference, show_value
from runner.cli.formatting import format_quantity
from runner.contract.commit_search import NothingToFind
from runner.contract.level import compute_median
from runner.contract.number_text import capitalize_first_letter
from runner.contract.report import Outcome, Report
from runner.contract.setting_search import FoundSettings, MeasureSettings, SettingSearch
from runner.contract.word_list import join_words


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
