"""Perf's outputs: recorded ones, and a few written by hand for hardware that was not at hand."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runner.perf.parse import PerfResult, parse_csv, parse_json, parse_text

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Output:
    """What perf printed, and how it came about."""

    name: str
    made_by: str
    text: str

    @property
    def format(self) -> str:
        return self.name.rpartition("/")[2].partition("-")[0]

    @property
    def separator(self) -> str:
        return "," if self.name.endswith("csv-comma") else ";"

    def parse(self, text: str | None = None, requested_events: tuple[str, ...] = ()) -> PerfResult:
        """Parse this output, or what became of it."""
        text = self.text if text is None else text
        if self.format == "csv":
            return parse_csv(text, self.separator, requested_events=requested_events)
        return (parse_json if self.format == "json" else parse_text)(text, requested_events=requested_events)


@cache
def outputs() -> tuple[Output, ...]:
    """Return all of them, in the order of their names."""
    return tuple(output(path.relative_to(HERE)) for path in sorted(HERE.glob("*/**/*.txt")))


def output(path: Path | str) -> Output:
    """Read one, by its path from here."""
    made_by, _, text = (HERE / path).read_text(encoding="utf-8").partition("\n")
    return Output(str(path).removesuffix(".txt").removeprefix("recorded/"), made_by, text)
