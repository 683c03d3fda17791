"""Fits remedies to the process: leaves out settings without effect there, and keeps options that it has already."""

from __future__ import annotations

from collections.abc import Iterable

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.diagnosis import Remedy
from service.rules.diagnose.process_contents import identify_allocator, is_malloc_replaceable
from service.rules.diagnose.profile_facts import Facts

_VARIABLE_PREFIX = "env."
_SEPARATORS = {
    **dict.fromkeys(("NODE_OPTIONS", "_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"), " "),
    **dict.fromkeys(("MALLOC_CONF", "JE_MALLOC_CONF", "_RJEM_MALLOC_CONF", "GODEBUG"), ","),
}
"""Variables with several options, and what separates these. The last of two contradictory options counts."""
_HIDDEN = "(hidden)"
"""A part of a value that the runner does not report."""


def fit_remedies(facts: Facts, remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return the remedies without those whose settings have no effect in the process.

    A variable with several options also gets those that the process has already, which the remedy must not remove.
    """
    fitted_remedies = (_fit_remedy(facts, remedy) for remedy in remedies)
    return tuple(remedy for remedy in fitted_remedies if remedy is not None)


def _fit_remedy(facts: Facts, remedy: Remedy) -> Remedy | None:
    """Return a remedy for the process; None if its settings have no effect there."""
    allocator, policy = remedy.settings.get("allocator"), remedy.settings.get("thp")
    if allocator is not None and (
        not is_malloc_replaceable(facts.profile) or identify_allocator(facts.profile) == allocator
    ):
        return None
    if policy is not None and (not facts.may_have_huge_pages or facts.huge_page_policy == policy):
        return None
    settings = {name: _add_present_options(facts, name, value) for name, value in remedy.settings.items()}
    if settings and all(_find_present_value(facts, name) == value for name, value in settings.items()):
        return None  # the process has all of them already
    if any(_HIDDEN in value or len(value) > MAX_LINE_CHARACTERS for value in settings.values()):
        settings = {}  # The present options are not known completely.
    return remedy if settings == remedy.settings else remedy.model_copy(update={"settings": settings})


def _add_present_options(facts: Facts, name: str, value: str) -> str:
    """Return the value of a setting, after the options that the process has already in this variable."""
    separator = _SEPARATORS.get(name.removeprefix(_VARIABLE_PREFIX))
    present_value = _find_present_value(facts, name)
    if separator is None or not present_value:
        return value
    present_options = present_value.split(separator)
    added = separator.join(option for option in value.split(separator) if option not in present_options)
    return f"{present_value}{separator}{added}" if added else present_value


def _find_present_value(facts: Facts, name: str) -> str | None:
    """Return the present value of a variable of the process; None if the setting is no variable, or is not set."""
    variable = name.removeprefix(_VARIABLE_PREFIX)
    return facts.profile.environment.settings.get(f"variable.{variable}") if variable != name else None
