"""Criss-cross merges: `-s ours` drops a mend of main, and the newest merge base is a branch without it.

Measured from there, head changes nothing; merging it takes main back to where it was slow.
"""

import json

from tests.hostile.arena import Arena, Outcome

WORDS = ("gate", "workload.toml", "main..docs", "--repo", ".", "--json", "--output", "REPORT")
FILE = '[workload]\nname = "hostile"\n[build]\ncommand = "cc -O0 -o prog prog.c"\n[run]\ncommand = ["./prog"]\n'
PROGRAM = """
#include <stdlib.h>
#include "pages.h"
int main(void) {
    char *p = malloc(PAGES * 4096L + 1);
    for (long i = 0; i < PAGES; i++) p[i * 4096] = 1;
    return 0;
}
"""


def pages(arena: Arena, count: int) -> None:
    arena.write("pages.h", f"enum {{ PAGES = {count} }};\n")


def prepare(arena: Arena) -> None:
    arena.write("workload.toml", FILE)
    arena.write("prog.c", PROGRAM)
    pages(arena, 1300)
    arena.commit("Slow")
    arena.git("checkout", "--quiet", "-b", "mend")
    pages(arena, 300)
    arena.commit("Mend")
    arena.git("checkout", "--quiet", "-b", "docs", "main")
    arena.write("README", "more words\n")
    arena.commit("Documents")
    arena.git("checkout", "--quiet", "main")
    for branch in ("mend", "docs"):
        arena.git("merge", "--quiet", "--no-ff", "--message", "Merge", branch)
    arena.git("checkout", "--quiet", "docs")
    arena.git("merge", "--quiet", "--strategy", "ours", "--message", "Merge", "mend")
    arena.write("more", "more\n")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status == 1, outcome.said
    report = json.loads(outcome.report)
    assert report["verdict"] == "regressed", outcome.said
    assert len(report["merge_bases"]) == 2
