"""Finds options in the help text of a program: those for a single thread, and those for a shorter computation."""

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

_OPTION_LINE = re.compile(
    r"\s*(?P<names>--?[@\w][\w-]*(?:(?:[ ,|/]+|\s*=?<\w+>\s*[,|]\s*)--?[\w][\w-]*)*)"
    r"(?P<join> {0,8}|=)(?P<value><[^<>]+>|\[?[A-Z][A-Z_]*\]?|#|int|num|n|N):?(?:\s+(?P<text>.*)|$)"
)
"""A line of a help text with an option that takes a value: ``-t, --threads NUM  description``."""
_NAME = re.compile(r"--?[@\w][\w-]*")
_THREADS_NAME = re.compile(r"--?(?:n|num|max|worker)?[-_]?threads?")
_THREADS_TEXT = re.compile(r"\b(?:number of|use|up to|how many|spawn|start)\b[^.;,]{0,30}\bthreads\b", re.IGNORECASE)
_ROUND_WORDS = r"iter(?:ation)?s?|cycles|(?:time)?steps|rep(?:eat|etition)s?|rounds|loops|epochs|trials|numtimes"
_ROUNDS_NAME = re.compile(rf"--?(?:(?:n|num|max|number-of)[-_]?)?(?:{_ROUND_WORDS})", re.IGNORECASE)
_ROUNDS_TEXT = re.compile(rf"\b(?:number of|how many|maximum)\b[^.;,]{{0,30}}\b(?:{_ROUND_WORDS})\b", re.IGNORECASE)
_COUNTED_ROUNDS = re.compile(rf"\s*(--?(?:n|num|max|number-of)[-_]?(?:{_ROUND_WORDS}))\s", re.IGNORECASE)
"""An option at the beginning of a line whose name says that it takes a number, however the line says so."""
_FEW_ROUNDS = 10
"""The number of rounds to which an option is set."""
_ITEMS_TEXT = re.compile(
    r"\b(?:number of|how many)\b[^.;,]{0,30}\b(?:particles?|histories|lookups|photons|samples|queries|operations)\b",
    re.IGNORECASE,
)
"""The description of an option that sets how many items are computed, of which a program is quick with thousands."""
_FEW_ITEMS = 10_000
"""The number of items to which an option is set."""
_DEFAULT_WORD = re.compile(r"\s*defaults?\b", re.IGNORECASE)
"""The beginning of a line that says which options are the default."""
_DEFAULT_NUMBER = re.compile(r"\bdefaults?\b\W{0,3}(?:(?:is|to|value)\W{1,3})?(\d+)\b", re.IGNORECASE)
_SMALLEST_SIZE = re.compile(r"\bsize\b.*[(\[|,:] *(tiny|mini|small)\b", re.IGNORECASE)
"""The description of an option that chooses among sizes of the problem."""
_MAX_OPTIONS = 2
"""The largest number of options of one purpose that are returned."""


_SCANNED_OPTION = re.compile(rb"(?<=\x00)(--?[A-Za-z][\w-]{0,30})=%(?:l{0,2}|z)[du]")
"""The format with which a program without a help scans an option that takes a number: ``--num=%d``."""
_ITEMS_NAME = re.compile(
    r"--?(?:n|num|count|(?:(?:n|num|number|max)[-_]?(?:of[-_]?)?)?(?:items|entries|keys|records|elements|ops|operations))",
    re.IGNORECASE,
)


class _Option(Struct, frozen=True):
    """An option that takes a value.

    Attributes
    ----------
    name
        Its longest kind of name. A long name says more in a workload file.
    separator
        What precedes its value.
    """

    name: str
    all_names: tuple[str, ...]
    separator: str
    description: str


def list_single_thread_options(help_text: str) -> list[str]:
    """Return the options with which a program may use one thread, such as ``--threads 1``, the likeliest first."""
    return list(
        dict.fromkeys(
            f"{option.name}{option.separator}1"
            for option in _list_options(help_text)
            if any(map(_THREADS_NAME.fullmatch, option.all_names)) or _THREADS_TEXT.search(option.description)
        )
    )[:_MAX_OPTIONS]


def list_shorter_options(help_text: str) -> list[str]:
    """Return the options with which a program may compute for a shorter time, such as ``--iterations 10``.

    If there are an option for a smaller problem and another one for fewer rounds or items, both together come last.
    """
    sizes: list[str] = []
    rounds: list[str] = []
    for option in _list_options(help_text):
        size = _SMALLEST_SIZE.search(option.description)
        if any(map(_ROUNDS_NAME.fullmatch, option.all_names)) or _ROUNDS_TEXT.search(option.description):
            rounds.append(f"{option.name}{option.separator}{_FEW_ROUNDS}")
        elif size:
            sizes.append(f"{option.name}{option.separator}{size[1]}")
        elif _ITEMS_TEXT.search(option.description) and _find_default(option, help_text, _FEW_ITEMS + 1) > _FEW_ITEMS:
            rounds.append(f"{option.name}{option.separator}{_FEW_ITEMS}")
    pair = [f"{sizes[0]} {rounds[0]}"] if sizes and rounds else []
    single_options = [*sizes[:1], *rounds[:1]] if pair else (sizes or rounds)[:_MAX_OPTIONS]
    return list(dict.fromkeys([*single_options, *pair]))


def list_scanned_options(program: bytes) -> list[str]:
    """Return the options with which a program without a help may compute for a shorter time, such as ``--num=10000``.

    Parameters
    ----------
    program
        The content of its file, in which the names of its options are part of the formats that scan them.
    """
    names = [name.decode() for name in dict.fromkeys(_SCANNED_OPTION.findall(program))]
    items = [f"{name}={_FEW_ITEMS}" for name in names if _ITEMS_NAME.fullmatch(name)]
    rounds = [f"{name}={_FEW_ROUNDS}" for name in names if _ROUNDS_NAME.fullmatch(name)]
    return [*items, *rounds][:_MAX_OPTIONS]


def _find_default(option: _Option, help_text: str, unknown: int) -> int:
    """Return the number that an option has by default, as its description or a line about all defaults says.

    Parameters
    ----------
    unknown
        What is returned if the text does not say it.
    """
    lines_about_defaults = (line for line in help_text.splitlines() if _DEFAULT_WORD.match(line))
    in_lines = (
        re.search(rf"(?<!\S){re.escape(name)}[ =](\d+)\b", line)
        for line in lines_about_defaults
        for name in option.all_names
    )
    match = _DEFAULT_NUMBER.search(option.description) or next(filter(None, in_lines), None)
    return int(match[1]) if match else unknown


def _list_options(help_text: str) -> Iterator[_Option]:
    """Yield the options of a help text that take a value."""
    for line, next_line in pairwise([*help_text.splitlines(), ""]):
        match = _OPTION_LINE.match(line)
        if match:
            names = tuple(_NAME.findall(match["names"]))
            yield _Option(
                name=next((name for name in names if name.startswith("--")), names[0]),
                all_names=names,
                # A value may have to follow a short name without a space.
                separator="" if match["value"] == "#" and not match["join"] else match["join"].strip() or " ",
                # The description may begin on the next line.
                description=(match["text"] or next_line).strip(),
            )
        elif counted_rounds := _COUNTED_ROUNDS.match(line):
            yield _Option(name=counted_rounds[1], all_names=(counted_rounds[1],), separator=" ", description="")
