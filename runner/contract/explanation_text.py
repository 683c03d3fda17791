"""Words an explanation: which line does what more than before, what that is called, and what takes it back."""

from collections.abc import Callable

from runner.contract.explanation import Explanation, MeasuredRemedy
from runner.contract.number_text import format_number, format_signed

EscapeText = Callable[[str], str]
"""Escapes text from a repository for the medium in which it is shown."""


def describe_explanation(explanation: Explanation, escape_text: EscapeText) -> str:
    """Return why a case got worse, in one to three sentences; empty if nothing was found."""
    sentences = []
    part, difference = explanation.leading_part, explanation.difference
    if part is not None and difference is not None:
        place = escape_text(part.place) if part.place else "the program"
        total_growth = difference.after - difference.before
        sentences.append(f"{place} {part.sentence}: {_describe_share(part.faults, total_growth)}.")
        changed_place = difference.changed_place
        if changed_place is not None and (changed_place.source_file, changed_place.source_line) != (
            part.source_file,
            part.source_line,
        ):
            sentences.append(
                f"Of the changed lines, {escape_text(changed_place.place)} grew most: +{changed_place.faults:,}."
            )
    if explanation.finding is not None:
        sentences.append(f"{explanation.finding.title}.")
    if explanation.remedy is not None:
        sentences.append(_describe_remedy(explanation.remedy, escape_text))
    return " ".join(sentences)


def _describe_share(faults: int, total_growth: int) -> str:
    """Return the faults of a part beside those of the whole: as a share of it, or with what the rest takes back."""
    rest = total_growth - faults
    if rest * faults < 0:
        return f"{format_signed(faults)} faults, and {format_signed(rest)} elsewhere"
    return f"{format_signed(faults)}{f' of {format_signed(total_growth)}' if rest else ''} faults"


def format_settings(settings: dict[str, str]) -> str:
    """Return settings as a shell would take them where they are variables: ``MALLOC_TRIM_THRESHOLD_=0``."""
    return " ".join(f"{name.removeprefix('env.')}={value}" for name, value in settings.items())


def _describe_remedy(remedy: MeasuredRemedy, escape_text: EscapeText) -> str:
    """Return by how much a remedy takes the regression back, as a sentence."""
    share = min(100.0, 100 * remedy.won_back)
    return (
        f"{escape_text(format_settings(remedy.settings))} takes back {format_number(round(share))} % of the "
        f"regression, measured in {remedy.pairs} pairs."
    )
