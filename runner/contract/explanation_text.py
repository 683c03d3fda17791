"""Words an explanation: which line does what more than before, what that is called, and what takes it back."""

from collections.abc import Callable

from runner.contract.explanation import Explanation, MeasuredRemedy
from runner.contract.number_text import format_number, format_signed

Show = Callable[[str], str]
"""Escapes text from a repository."""


def describe_explanation(explanation: Explanation, show: Show) -> str:
    """Return why a case got worse, in one to three sentences; empty if nothing was found."""
    sentences = []
    part, difference = explanation.leading_part, explanation.difference
    if part is not None and difference is not None:
        place = show(part.place) if part.place else "the program"
        total = difference.after - difference.before
        of_total = "" if part.faults == total else f" of {format_signed(total)}"
        sentences.append(f"{place} {part.sentence}: {format_signed(part.faults)}{of_total} faults.")
        changed = difference.changed_place
        if changed is not None and (changed.source_file, changed.source_line) != (part.source_file, part.source_line):
            sentences.append(f"Of the changed lines, {show(changed.place)} grew most: +{changed.faults:,}.")
    if explanation.finding is not None:
        sentences.append(f"{explanation.finding.title}.")
    if explanation.remedy is not None:
        sentences.append(_describe_remedy(explanation.remedy, show))
    return " ".join(sentences)


def format_settings(settings: dict[str, str]) -> str:
    """Return settings as a shell would take them where they are variables: ``MALLOC_TRIM_THRESHOLD_=0``."""
    return " ".join(f"{name.removeprefix('env.')}={value}" for name, value in settings.items())


def _describe_remedy(remedy: MeasuredRemedy, show: Show) -> str:
    share = min(100.0, 100 * remedy.won_back)
    return (
        f"{show(format_settings(remedy.settings))} wins back {format_number(round(share))} %, "
        f"measured in {remedy.pairs} pairs."
    )
