"""Finds the option by which a program uses a single thread, in its help text."""

import re
from collections.abc import Iterator
from itertools import pairwise

_OPTION_LINE = re.compile(
    r"\s*(?P<names>--?[@\w][\w-]*(?:(?:[ ,|/]+|\s*=?<\w+>\s*[,|]\s*)--?[\w][\w-]*)*)"
    r"(?P<join>[ =]?)(?P<value><[^<>]+>|\[?[A-Z][A-Z_]*\]?|#|int|num|n|N)(?:\s+(?P<text>.*)|$)"
)
"""A line of a help text with an option that takes a value: ``-t, --threads NUM  description``."""
_NAME = re.compile(r"--?[@\w][\w-]*")
_THREADS_NAME = re.compile(r"--?(?:n|num|max|worker)?[-_]?threads?")
_THREADS_TEXT = re.compile(r"\b(?:number of|use|up to|how many|spawn|start)\b[^.;,]{0,30}\bthreads\b", re.IGNORECASE)
_MAX_OPTIONS = 2


def list_single_thread_options(help_text: str) -> list[str]:
    """Return the options with which a program may use one thread, such as ``--threads 1``, the likeliest first."""
    return list(dict.fromkeys(_find_options(help_text)))[:_MAX_OPTIONS]


def _find_options(help_text: str) -> Iterator[str]:
    """Yield the options of a help text that limit the threads."""
    for line, next_line in pairwise([*help_text.splitlines(), ""]):
        option = _OPTION_LINE.match(line)
        if not option:
            continue
        names = _NAME.findall(option["names"])
        # The description may begin on the next line.
        description = (option["text"] or next_line).strip()
        if any(map(_THREADS_NAME.fullmatch, names)) or _THREADS_TEXT.search(description):
            # A long name says more in a workload file. A value may have to follow a short name without a space.
            name = next((name for name in names if name.startswith("--")), names[0])
            separator = "" if option["value"] == "#" and not option["join"] else option["join"] or " "
            yield f"{name}{separator}1"
