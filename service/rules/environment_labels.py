"""Describes in a few words how the environments of adjacent columns differ.

An environment has a hundred settings, of which a reader of a table needs only the few that differ between its columns.
For a tool, the label says that it is another one, not where its file is or how large it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix

MAX_NAMED_DIFFERENCES = 2
"""At most this many differences are named; the others are only counted."""
_MAX_CHARACTERS = 40
"""Maximum number of characters of a value."""
_KINDS_IN_ORDER = ("parameter", "build", "variable", "process", "kernel", "compiler", "program", "library", "tool")
"""Kinds of settings: those that people choose come before those that come with an upgrade."""
_FILE = re.compile(r"(?P<place>/.*), (?P<size>\d+) bytes of (?P<day>[\d-]{10}) (?P<time>[\d:]{8})")
_LIBRARY = re.compile(r"(?P<name>[^,]*), sha256 (?P<digits>[0-9a-f]+)")
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
_SHOWN_DIGITS = 8
"""The number of digits of a hash that are shown."""


@dataclass(frozen=True, slots=True)
class ColumnLabel:
    """The label of a column: how it differs from its neighbours.

    Attributes
    ----------
    text
        The most important differences, and the number of others; empty if there are none.
    all
        The names of all differing settings.
    """

    text: str = ""
    all: tuple[str, ...] = ()


def label_columns(columns: Sequence[Mapping[str, str]]) -> list[ColumnLabel]:
    """Return, for each environment, given by its settings, how it differs from the others."""
    names = {name for settings in columns for name in settings}
    values = {name: [settings.get(name) for settings in columns] for name in sorted(names, key=_rank_setting)}
    differing_values = {name: texts for name, texts in values.items() if len(set(texts)) > 1}
    words_of_setting = {name: _describe_values(name, texts) for name, texts in differing_values.items()}
    return [
        _build_label(
            [texts_of_setting[index] for texts_of_setting in words_of_setting.values()], tuple(differing_values)
        )
        for index in range(len(columns))
    ]


def _build_label(texts_of_column: Sequence[str], names: tuple[str, ...]) -> ColumnLabel:
    """Return the label of a column from the texts of its differences, of which at most a few are named."""
    distinct_texts = list(dict.fromkeys(texts_of_column))
    n_more = len(distinct_texts) - MAX_NAMED_DIFFERENCES
    # A single remaining text is also named, because "1 more" takes as much space.
    texts = distinct_texts if n_more <= 1 else [*distinct_texts[:MAX_NAMED_DIFFERENCES], f"{n_more} more"]
    return ColumnLabel(", ".join(texts), names)


def _rank_setting(name: str) -> tuple[int, str]:
    """Return the sort key of a setting: the most informative kinds come first; unknown kinds rank like the kernel's."""
    kind = name.partition(".")[0]
    ranked_kind = kind if kind in _KINDS_IN_ORDER else "kernel"
    return _KINDS_IN_ORDER.index(ranked_kind), name


def _describe_values(name: str, values: Sequence[str | None]) -> list[str]:
    """Return the words for each value of a setting, given at least two different values."""
    kind, _, name_in_kind = name.partition(".")
    if kind == "variable":
        return [f"no {name_in_kind}" if text is None else f"{name_in_kind}={text}" for text in _shorten_values(values)]
    if kind in {"tool", "program", "compiler", "library"}:
        short_name = name_in_kind or kind
        return [f"no {short_name}" if text is None else f"{short_name} {text}" for text in _list_short_versions(values)]
    short_name = name_in_kind if kind in {"parameter", "build"} else name
    return [f"{short_name} not set" if text is None else f"{short_name} {text}" for text in _shorten_values(values)]


def _list_short_versions(values: Sequence[str | None]) -> list[str | None]:
    """Return the shortest texts that distinguish files or versions of a program; None for a missing value.

    The functions are tried in ascending order of the length of their texts. Each returns an empty text if it does not
    apply to a value.
    """
    for shorten in (_read_version, _read_digits, _read_day, _read_time, _read_folder):
        texts = [None if value is None else shorten(value) for value in values]
        if "" not in texts and len(set(texts)) == len(set(values)):
            return texts
    return _shorten_values(values)


def _read_version(value: str) -> str:
    """Return the last version number in a program's output; empty if there is none."""
    numbers = _VERSION.findall(value)
    return str(numbers[-1]) if numbers and not _FILE.fullmatch(value) and not _LIBRARY.fullmatch(value) else ""


def _read_digits(value: str) -> str:
    """Return the first digits of the hash of a library; empty for another text."""
    match = _LIBRARY.fullmatch(value)
    return match["digits"][:_SHOWN_DIGITS] if match else ""


def _read_day(value: str) -> str:
    """Return the date of a file; empty for another text."""
    match = _FILE.fullmatch(value)
    return f"of {match['day']}" if match else ""


def _read_time(value: str) -> str:
    """Return the date and time of a file, to the minute; empty for another text."""
    match = _FILE.fullmatch(value)
    return f"of {match['day']} {match['time'][:5]}" if match else ""


def _read_folder(value: str) -> str:
    """Return the path of a file; empty for another text."""
    match = _FILE.fullmatch(value)
    return f"at {_shorten_value(match['place'])}" if match else ""


def _shorten_values(values: Sequence[str | None]) -> list[str | None]:
    """Return the values, cut if they are long, but so that different values remain different."""
    texts = [None if value is None else _shorten_value(value) for value in values]
    if len(set(texts)) == len(set(values)):
        return texts
    return [
        None if value is None else _cut_value_around_difference(value, set(values) - {value, None}) for value in values
    ]


def _cut_value_around_difference(value: str, others: Iterable[str | None]) -> str:
    """Return the beginning of a long value, and the part in which it differs from the most similar other value."""
    common_beginnings = (commonprefix([value, other]) for other in others if other)  # noqa: RUF071 - they are no paths
    n_equal = max(map(len, common_beginnings), default=0)
    n_kept = _MAX_CHARACTERS // 2 - 1
    if len(value) <= _MAX_CHARACTERS or n_equal < n_kept:
        return _shorten_value(value)
    part = value[n_equal - n_kept // 2 :]  # begins before the difference, because a single character says little
    return f"{value[:n_kept]}…{part[:n_kept]}{'…' if len(part) > n_kept else ''}"


def _shorten_value(value: str) -> str:
    return value if len(value) <= _MAX_CHARACTERS else f"{value[: _MAX_CHARACTERS - 1]}…"
