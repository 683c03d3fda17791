"""Heads that take 1,000 faults more change all that judges: each alone, and by another file or another beginning."""

import json
from collections.abc import Mapping

from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.base_of_its_own_choice import PROGRAM, pages

GATE = ("gate", "--repo", ".", "--json", "-q", "--output", "REPORT")
BUILD = '[build]\ncommand = "cc -O0 -o prog prog.c"\n'
RUN = '[run]\ncommand = ["./prog"]\n'
GENERAL = '[workload]\nname = "hostile"\nmax_samples = 20\n'
FILE = GENERAL + BUILD + RUN + "[metrics.budget]\nminor-faults = 10\n"
SLOW: Mapping[str, str] = {
    "budget": FILE.replace("minor-faults = 10", "minor-faults = 2000"),
    "budget none": FILE.replace("minor-faults = 10", 'minor-faults = "none"'),
    "max_samples": FILE.replace("max_samples = 20", "max_samples = 1\nsamples = 1"),
    "precision": FILE + "[metrics.precision]\nminor-faults = 100\n",
    "timeout": FILE.replace("max_samples = 20", "max_samples = 20\ntimeout = 0.0001"),
    "unmeasured": FILE.replace("max_samples = 20", 'max_samples = 20\nunmeasured = "pass"').replace('"./prog"', '"no"'),
    "other program": FILE.replace('"./prog"', '"true"'),
    "other build": FILE.replace("cc -O0 -o prog prog.c", "cp /bin/true prog"),
    "no program here": FILE.replace(RUN, RUN + 'memory_limit = "1"\n'),
    "needs": FILE.replace(BUILD, BUILD + 'needs = ["no-such-program"]\n'),
}
"""What head makes of its file."""


def prepare(arena: Arena) -> None:
    arena.write("workload.toml", FILE)
    arena.write("perf/workload.toml", FILE.replace('"hostile"', '"moved"'))
    arena.write("prog.c", PROGRAM)
    pages(arena, 300)
    arena.commit("Base")


def attack(arena: Arena) -> Outcome:
    outcome = None
    for name, text in SLOW.items():
        _slow(arena, {"workload.toml": text})
        outcome = _must_fail(arena, name, "workload.toml")
    weak = SLOW["budget"]
    _slow(arena, {"moved/workload.toml": weak})
    _must_fail(arena, "a folder of its name", "moved")
    _slow(arena, {"workload.toml": weak.replace('"hostile"', '"moved"')})
    _must_fail(arena, "its name at the top", "moved")
    _slow(arena, {"weak/workload.toml": weak}, link=("perf", "weak"))
    _must_fail(arena, "a link", "perf/workload.toml")
    # A beginning before the file was there, or where the program was broken.
    arena.git("checkout", "--quiet", "--force", "-B", "change", "main~1")
    _slow(arena, {"workload.toml": weak, "prog.c": PROGRAM}, start="main~1")
    _must_fail(arena, "an older base", "workload.toml")
    assert outcome
    return outcome


def _slow(arena: Arena, files: Mapping[str, str], *, link: tuple[str, str] | None = None, start: str = "main") -> None:
    """Make a head that is slower, with other files."""
    arena.git("checkout", "--quiet", "--force", "-B", "change", start)
    arena.git("clean", "-fdxq")
    if link:
        arena.git("rm", "-rq", link[0])
        arena.link(*link)
    for name, text in files.items():
        arena.write(name, text)
    pages(arena, 1300)
    arena.commit()


def _must_fail(arena: Arena, attempt: str, workload: str) -> Outcome:
    report = arena.folder / "report" / "report.json"
    report.unlink(missing_ok=True)
    outcome = arena.run(*GATE, workload, "main..change")
    assert outcome.status, f"{attempt} passes: {outcome.said}"
    # Whatever stops it is a verdict, or a refusal in one line.
    assert outcome.status == 2 or not json.loads(outcome.report)["passed"], f"{attempt}: {outcome.said}"
    return outcome
