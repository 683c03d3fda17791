"""Parses the output of ``perf stat`` into readings, exactly or not at all.

perf's output has no fixed grammar: it changes with the version, the options and the locale. Each format is parsed
strictly, and everything that is not clearly one count of one run is a :class:`PerfOutputError`, never a guess.
"""

from runner.perf.parse.csv import parse_csv
from runner.perf.parse.json import parse_json
from runner.perf.parse.lines import PerfOutputError
from runner.perf.parse.readings import PerfResult
from runner.perf.parse.text import parse_text

__all__ = ["PerfOutputError", "PerfResult", "parse_csv", "parse_json", "parse_text"]
