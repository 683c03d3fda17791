"""Pairs the lines that a commit removed with those that it added, so that a reader sees what became of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from runner.contract.code_change import MAX_CODE_TEXT, ChangedCode
from runner.subject.code_names import find_enclosing_name
from runner.subject.code_tokens import split_tokens

_MIN_SIMILARITY, _MIN_WORD_SIMILARITY = 0.5, 0.3
"""Lines that share less than these parts of their tokens, and of their names and numbers, are not the same line,
rewritten: all lines have brackets."""
_MIN_TOKENS = 6
"""Shorter lines, such as brackets, are the same in many places."""
_MAX_PAIRED_LINES = 100
"""The lines of a larger hunk are not paired: it rewrites a whole function, and each pair of lines is compared."""
_Range = tuple[int, int]
"""The index of the first line, and the number of lines."""


class _Parts(NamedTuple):
    """The tokens of a line, and those of them that are names or numbers, each with how often it occurs."""

    tokens: Counter[str]
    words: Counter[str]


def list_changed_code(
    file: str, sides: tuple[Sequence[str], Sequence[str]], ranges: tuple[_Range, _Range], first_line: int
) -> Iterator[ChangedCode]:
    """Yield the text of each changed line of a hunk before and after, without empty lines.

    Parameters
    ----------
    sides
        All lines of the file before and after the commit, without comments.
    ranges
        The lines of the hunk in the file before and after.
    first_line
        The number of the first line of the hunk after the commit; of removed lines, that of the line in their place.
    """
    removed, added = (_list_numbered_lines(*side) for side in zip(sides, ranges, strict=True))
    pairs = _pair_lines([text for _, text in removed], [text for _, text in added])
    for index, (number, text) in enumerate(added):
        number_before, text_before = removed[pairs[index]] if index in pairs else (0, "")
        function = find_enclosing_name(sides[1], number)
        yield _build_changed_code(file, (number_before, number), function, (text_before, text))
    for index in sorted(set(range(len(removed))) - set(pairs.values())):
        number, text = removed[index]
        function = find_enclosing_name(sides[0], number)
        yield _build_changed_code(file, (number, first_line), function, (text, ""))


def pair_across_hunks(code: Iterable[ChangedCode]) -> Iterator[ChangedCode]:
    """Yield changed lines, in which new lines rewrite similar ones that another hunk removed from the same function.

    Of a function that was rewritten, git pairs what is the same, such as a bracket, and divides the rest into hunks.
    """
    lines_of_function: defaultdict[tuple[str, str], list[ChangedCode]] = defaultdict(list)
    for line in code:
        lines_of_function[line.file, line.function].append(line)
    for (_, function), lines in lines_of_function.items():
        yield from _pair_new_with_removed(lines) if function else lines


def _pair_new_with_removed(lines: Sequence[ChangedCode]) -> Iterator[ChangedCode]:
    """Yield the changed lines of a function; each new one with the most similar removed one, if there is any."""
    removed, new = (
        [line for line in lines if not (line.text_after if is_removed else line.text_before) and _has_content(line)]
        for is_removed in (True, False)
    )
    pairs = _pair_lines([line.text_before for line in removed], [line.text_after for line in new])
    pair_of_line = {id(new[index]): removed[k] for index, k in pairs.items()}
    rewritten = {id(removed[k]) for k in pairs.values()}
    for line in lines:
        old = pair_of_line.get(id(line))
        if old is not None:
            yield line.model_copy(update={"line_before": old.line_before, "text_before": old.text_before})
        elif id(line) not in rewritten:
            yield line


def _has_content(line: ChangedCode) -> bool:
    """Return whether a line says enough to be recognised in another place."""
    return len(split_tokens(line.text_before or line.text_after)) >= _MIN_TOKENS


def _build_changed_code(file: str, numbers: tuple[int, int], function: str, texts: tuple[str, str]) -> ChangedCode:
    text_before, text_after = (_cut_text(text) for text in texts)
    line_before, line = numbers
    return ChangedCode(
        file=file,
        line=line,
        line_before=line_before,
        function=function,
        text_before=text_before,
        text_after=text_after,
    )


def _cut_text(text: str) -> str:
    return text if len(text) <= MAX_CODE_TEXT else f"{text[: MAX_CODE_TEXT - 1]}…"


def _list_numbered_lines(lines: Sequence[str], lines_range: _Range) -> list[tuple[int, str]]:
    """Return the numbers and the texts of the lines of a range that are not empty, with single spaces."""
    first, count = lines_range
    numbered = enumerate(lines[first : first + count], start=first + 1)
    return [(number, text) for number, line in numbered if (text := " ".join(line.split()))]


def _pair_lines(removed: Sequence[str], added: Sequence[str]) -> dict[int, int]:
    """Return the index of the removed line that each added line rewrites: the most similar pairs first."""
    if max(len(removed), len(added)) > _MAX_PAIRED_LINES:
        return {}
    removed_parts, added_parts = ([_count_parts(line) for line in side] for side in (removed, added))
    ranked_pairs = sorted(
        (-_measure_similarity(before, after), abs(i - k), i, k)
        for i, after in enumerate(added_parts)
        for k, before in enumerate(removed_parts)
    )
    pairs: dict[int, int] = {}
    for similarity, _, i, k in ranked_pairs:
        if -similarity >= _MIN_SIMILARITY and i not in pairs and k not in pairs.values():
            pairs[i] = k
    return pairs


def _count_parts(line: str) -> _Parts:
    """Return how often each word, and each other token, is in a line."""
    tokens = split_tokens(line)
    words = [token for token in tokens if token[0].isalnum() or token[0] == "_"]
    return _Parts(Counter(tokens), Counter(words))


def _measure_similarity(before: _Parts, after: _Parts) -> float:
    """Return the share of the tokens that two lines have in common; 0 if they have too few words in common."""
    if _measure_overlap(before.words, after.words) < _MIN_WORD_SIMILARITY:
        return 0
    return _measure_overlap(before.tokens, after.tokens)


def _measure_overlap(before: Counter[str], after: Counter[str]) -> float:
    """Return the Sørensen-Dice coefficient of two multisets; 1 if both are empty."""
    total = before.total() + after.total()
    return 2 * (before & after).total() / total if total else 1.0
