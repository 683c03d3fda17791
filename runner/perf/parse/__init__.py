"""What ``perf stat`` printed → readings, exactly or not at all.

Perf's output has no grammar of its own: it changes with the version, the options and the locale. Each format is read
strictly, and whatever cannot be taken for one count of one run is a :class:`PerfOutputError`, never a guess.
"""

from runner.perf.parse.csv import parse_csv
from runner.perf.parse.json import parse_json
from runner.perf.parse.lines import PerfOutputError
from runner.perf.parse.readings import PerfResult
from runner.perf.parse.text import parse_text

__all__ = ["PerfOutputError", "PerfResult", "parse_csv", "parse_json", "parse_text"]
