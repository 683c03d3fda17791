"""A line of perf's output, and the error that points at it."""

from dataclasses import dataclass


class PerfOutputError(ValueError):
    """Perf's output is not what perf writes, or not what can be taken for a count: says which line and why."""

    def __init__(self, what: str, number: int = 0, text: str = "") -> None:
        self.what = what
        self.number = number
        self.text = text
        super().__init__(f"line {number}: {what}: {text[:200]!r}" if number else what)


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its number, from 1."""

    number: int
    text: str

    def error(self, what: str) -> PerfOutputError:
        """Return the error that says what is wrong with this line."""
        return PerfOutputError(what, self.number, self.text)


def lines_of(text: str) -> list[Line]:
    """Split into lines at line feeds only: a command in perf's header may hold any other character."""
    return [Line(number, part.rstrip("\r")) for number, part in enumerate(text.split("\n"), start=1)]
