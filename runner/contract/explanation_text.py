"""Words an explanation: what a line does more than before, the name of this pathology, and a remedy."""

import re
from collections.abc import Callable, Sequence

from runner.contract.code_change import MAX_CODE_TEXT, ChangedCode
from runner.contract.diagnosis import MAX_POLICY_CHANGES, AlteredDefinition, ChangedPlace, Difference
from runner.contract.explanation import Explanation, MeasuredRemedy
from runner.contract.metric_verdict_text import name_metric
from runner.contract.number_text import (
    format_count,
    format_difference,
    format_share,
    format_signed_number,
    replace_no_break_spaces,
)
from runner.contract.own_frame import shorten_source_path

_PLAIN_WORD = re.compile(
    r"\(?[A-Za-z]+(?:['-][A-Za-z]+)*[,.)]?|"
    r"[0-9]+(?:[.,][0-9]+)*(?:[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}][A-Za-z]+)?"
)
"""A word or an amount that no medium can take for markup, a link or a mention."""
EscapeText = Callable[[str], str]
"""Escapes text from a repository for the medium in which it is shown."""


def describe_explanation(explanation: Explanation, escape_text: EscapeText) -> str:
    """Return why a case got worse, in a few sentences; empty if nothing was found."""
    sentences = []
    part, difference = explanation.leading_part, explanation.difference
    if part is not None and difference is not None:
        place = escape_text(part.place) if part.place else "the program"
        if part.caller:
            place = f"{place}, called by {escape_text(part.caller)},"
        total_growth = difference.faults
        sentence = _escape_names(part.sentence, escape_text)
        sentences.append(f"{place} {sentence}: {_describe_share(part.faults, total_growth)}.")
        named_line = (part.source_file, part.source_line)
        sentences += describe_change(difference, escape_text, named_line, max_policy_changes=1)
    if explanation.finding is not None:
        sentences.append(f"{_escape_names(explanation.finding.title, escape_text)}.")
    if explanation.remedy is not None:
        sentences.append(_describe_remedy(explanation.remedy, escape_text))
    return " ".join(sentences)


def describe_change(
    difference: Difference,
    escape_text: EscapeText,
    named_line: tuple[str, int] = ("", 0),
    *,
    max_policy_changes: int = MAX_POLICY_CHANGES,
) -> list[str]:
    """Return what the change has to do with a difference: sentences, of which the first explains the most.

    The list is empty if nothing is known about the change.

    Parameters
    ----------
    named_line
        The file and number of a line that the reader has just been told; a sentence that only names it is left out.
    max_policy_changes
        Of the lines that may decide when memory is given back, at most this many are described.
    """
    growth = difference.faults
    changed_place, definition = difference.changed_place, difference.altered_definition
    about_line = _describe_changed_lines(difference, escape_text, named_line)
    other_change = _escape_sentences(difference.other_change, escape_text)
    policy_changes = difference.policy_changes[:max_policy_changes]
    code = ""
    if difference.changed_code is not None and difference.changed_code not in policy_changes:
        is_removed = definition is None and changed_place is not None and changed_place.is_removed
        code = _describe_code(difference.changed_code, escape_text, is_removed=is_removed)
    if definition is None and about_line:
        about_line = f"{about_line} {code}".rstrip()
    elif definition is None and other_change:
        other_change = f"{other_change} {code}".rstrip()
    is_leading = changed_place is not None and (changed_place.manages_memory or changed_place.has_most_of(growth))
    about_policy = _describe_policy(policy_changes, escape_text)
    is_policy_first = changed_place is not None and changed_place.manages_memory
    sentences = [
        _escape_sentences(difference.conclusion, escape_text),
        *(about_policy if is_policy_first else ()),
        about_line if is_leading else "",
        f"{describe_altered_definition(definition, escape_text)} {code}".rstrip() if definition else "",
        _escape_sentences(difference.resized_types, escape_text),
        *(() if is_policy_first else about_policy),
        "" if is_leading else about_line,
        other_change,
        f"The cause was not found: {describe_unmoved_lines(growth)}, so the change acts indirectly."
        if difference.is_indirect
        else "",
    ]
    return [sentence for sentence in sentences if sentence]


def describe_unmoved_lines(growth: int) -> str:
    """Return a clause about a change that moves the count by so many faults, of which none of its lines has many."""
    more = "more" if growth > 0 else "fewer"
    return f"neither the changed lines nor the code that they call have notably {more} faults"


def _describe_changed_lines(difference: Difference, escape_text: EscapeText, named_line: tuple[str, int]) -> str:
    """Return what the changed lines have to do with a difference; empty if none is named, or only ``named_line``."""
    changed_place, opposite_place = difference.changed_place, difference.opposite_place
    if changed_place is None:
        return ""
    if (changed_place.source_file, changed_place.source_line) == named_line:
        return "The change removed or rewrote this line." if changed_place.is_removed else ""
    growth = difference.faults
    sentence = describe_changed_place(changed_place, escape_text(changed_place.place), growth)
    if opposite_place is None:
        return sentence if changed_place.manages_memory else _add_rest(sentence, changed_place.faults, growth)
    return f"{sentence} {describe_opposite_place(opposite_place, escape_text(opposite_place.place))}"


def _add_rest(sentence: str, faults: int, total_growth: int) -> str:
    """Return a sentence on the faults of a line with those of all others, if these moved half as far against them."""
    rest = total_growth - faults
    if rest * faults >= 0 or 2 * abs(rest) < abs(faults):
        return sentence
    gained = "gained" if rest > 0 else "lost"
    return f"{sentence.removesuffix('.')}, while all others {gained} {abs(rest):,}."


def describe_changed_place(changed_place: ChangedPlace, place_text: str, total_growth: int) -> str:
    """Return what a changed line has to do with the difference, as a sentence.

    Parameters
    ----------
    place_text
        The line with its function, as it is shown.
    total_growth
        The whole difference in faults, of which the line may have only a small part.
    """
    if changed_place.manages_memory and changed_place.is_removed:
        does = "gave back or write-protected" if changed_place.gives_back else "requested"
        return f"The change removed or rewrote {place_text}, which called the code that {does} this memory."
    if changed_place.gives_back:
        return f"Of the changed lines, {place_text} calls the code that gives back or write-protects this memory."
    if changed_place.requests:
        return f"Of the changed lines, {place_text} calls the code that requests this memory."
    if changed_place.is_removed:
        calls = " called code that" if changed_place.is_caller else ""
        n_faults = format_count(abs(changed_place.faults), "fault")
        return f"The change removed or rewrote {place_text}, which{calls} had {n_faults} more."
    gained = "gained" if changed_place.faults > 0 else "lost"
    calls = ", in the code that it calls" if changed_place.is_caller else ""
    faults = format_signed_number(changed_place.faults)
    is_part = 0 < changed_place.faults / total_growth < 1 if total_growth else False
    total = f" of {format_signed_number(total_growth)}" if is_part else ""
    return f"Of the changed lines, {place_text} {gained} the most faults{calls}: {faults}{total}."


def describe_altered_definition(definition: AlteredDefinition, escape_text: EscapeText) -> str:
    """Return which definition the change alters and which line uses it, as a sentence."""
    name, place = escape_text(definition.name), escape_text(definition.place)
    if definition.values:
        place = f"{place}: {escape_text(definition.values)}"
    only = "only " if definition.is_only else ""
    if definition.is_own_line:
        return f"The change alters {only}{name} itself, at {place}."
    use = f", which {escape_text(definition.use)} uses" if definition.use else ""
    return f"The change alters {only}{name} ({place}){use}."


def _describe_policy(changes: Sequence[ChangedCode], escape_text: EscapeText) -> list[str]:
    """Return the changed lines that may decide when memory is given back, a sentence for each."""
    if not changes:
        return []
    start = "Judging by their names, these changed lines may decide when memory is collected, kept or given back"
    places = [escape_text(_format_code_place(change)) for change in changes]
    return [
        f"{start}:",
        *(f"{place}: {_format_code(change, escape_text)}." for place, change in zip(places, changes, strict=True)),
    ]


def _format_code_place(code: ChangedCode) -> str:
    place = f"{shorten_source_path(code.file)}:{code.line}"
    return f"{code.function} at {place}" if code.function else place


def _describe_code(code: ChangedCode, escape_text: EscapeText, *, is_removed: bool) -> str:
    """Return what became of the text of a changed line, as a sentence.

    The faults of a removed line are gone, so what stands there now does not matter.
    """
    if is_removed:
        return f"It was {escape_text(f'`{code.text_before}`')}."
    return f"There, {_format_code(code, escape_text)}."


def _format_code(code: ChangedCode, escape_text: EscapeText) -> str:
    """Return the text of a changed line before and after, as a clause."""
    before, after = (escape_text(f"`{text}`") for text in (code.text_before, code.text_after))
    if not code.text_before:
        return f"{after} is new"
    if code.text_before == code.text_after:
        is_cut = len(code.text_after) == MAX_CODE_TEXT
        return f"{after} changed {'further on' if is_cut else 'only its place, its indentation or a comment'}"
    return f"{before} became {after}" if code.text_after else f"{before} was removed"


def describe_opposite_place(opposite_place: ChangedPlace, place_text: str) -> str:
    """Return how many faults another changed line lost, or gained, against the first; see the function above."""
    gained = "gained" if opposite_place.faults > 0 else "lost"
    return f"Another, {place_text}, {gained} {format_count(abs(opposite_place.faults), 'fault')}."


def _escape_names(sentence: str, escape_text: EscapeText) -> str:
    """Return a sentence in which everything but plain words is escaped: the names of a program's files and functions.

    Successive words are escaped together. A bracket or comma around them is not escaped.
    """
    parts: list[str] = []
    names: list[str] = []

    def add_names() -> None:
        if names:
            opening, name, closing = _split_punctuation(" ".join(names))
            parts.append(f"{opening}{escape_text(name)}{closing}")
            names.clear()

    for word in sentence.split(" "):
        if _PLAIN_WORD.fullmatch(word):
            add_names()
            parts.append(word)
        else:
            names.append(word)
    add_names()
    return " ".join(parts)


def _escape_sentences(text: str, escape_text: EscapeText) -> str:
    """Return sentences with escaped names; empty if there are none."""
    return f"{_escape_names(text.removesuffix('.'), escape_text)}." if text else ""


def _split_punctuation(text: str) -> tuple[str, str, str]:
    """Return a bracket at the start of a text, the text, and a comma or bracket at its end; each may be empty."""
    opening = text[: text.startswith("(")]
    closing = text[-1:] if len(text) > len(opening) + 1 and text.endswith((",", ")")) else ""
    return opening, text.removeprefix(opening).removesuffix(closing), closing


def _describe_share(faults: int, total_growth: int) -> str:
    """Return the change of a part's faults, in relation to the whole change.

    ``+80 of +100 faults``; ``+100 faults`` if there is no other part; ``+120 faults, and -20 elsewhere`` if the other
    parts changed in the opposite direction.
    """
    rest = total_growth - faults
    if rest * faults < 0:
        return f"{_format_faults(faults)}, and {format_signed_number(rest)} elsewhere"
    if rest:
        return f"{format_signed_number(faults)} of {_format_faults(total_growth)}"
    return _format_faults(faults)


def _format_faults(difference: int) -> str:
    """Return a difference in faults, with an ordinary space: a medium may escape a no-break space."""
    return replace_no_break_spaces(format_difference(difference, "faults"))


def format_settings(settings: dict[str, str]) -> str:
    """Return settings as text. Variables are written as in a shell, without ``env.``: ``MALLOC_TRIM_THRESHOLD_=0``."""
    return " ".join(f"{name.removeprefix('env.')}={value}" for name, value in settings.items())


def _describe_remedy(remedy: MeasuredRemedy, escape_text: EscapeText) -> str:
    """Return which share of the regression a remedy wins back, as a sentence."""
    share = min(1.0, remedy.won_back)
    return (
        f"{escape_text(format_settings(remedy.settings))} undoes {format_share(share)} of the "
        f"change in {name_metric(remedy.metric, escape_text)}, measured in {remedy.pairs} pairs."
    )
