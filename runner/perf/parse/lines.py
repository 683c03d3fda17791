"""Lines of perf's output, and the error that points at a line."""

import re

from msgspec import Struct

_START_LINE = re.compile(r"# started on [A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{4}", re.ASCII)
"""The line that perf writes above each run in a file (``-o``); its form is the same in every locale."""
_MAX_QUOTED_CHARACTERS = 200


class PerfOutputError(ValueError):
    """The text is not output of perf, or not the counts of one run; the message names the line and the reason."""

    def __init__(self, problem: str, line_number: int = 0, text: str = "") -> None:
        self.what = problem
        self.number = line_number
        self.text = text
        super().__init__(
            f"line {line_number}: {problem}: {text[:_MAX_QUOTED_CHARACTERS]!r}" if line_number else problem
        )


class Line(Struct, frozen=True):
    """One line of perf's output with its number, counted from 1."""

    number: int
    text: str

    def make_error(self, problem: str) -> PerfOutputError:
        """Return the error that says what is wrong with this line."""
        return PerfOutputError(problem, self.number, self.text)


def split_lines(text: str) -> list[Line]:
    """Split a text at line feeds only: other line separators may belong to a command that perf quotes."""
    return [Line(number, part.removesuffix("\r")) for number, part in enumerate(text.split("\n"), start=1)]


def list_event_lines(text: str) -> list[Line]:
    """Return the event lines of machine-readable output (-x, -j): all but blank lines and perf's comment.

    Raises
    ------
    PerfOutputError
        The text contains more than one run, or is cut off.
    """
    lines = [line for line in split_lines(text) if line.text.strip()]
    starts = [line for line in lines if _START_LINE.fullmatch(line.text)]
    if len(starts) > 1:
        raise starts[1].make_error(
            "a second run begins here, but each output must contain a single run: run perf stat without --append"
        )
    if lines and not text.endswith("\n"):
        raise lines[-1].make_error("the last line is incomplete: the output is cut off")
    return [line for line in lines if line not in starts]
