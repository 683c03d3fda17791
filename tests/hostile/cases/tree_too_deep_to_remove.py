"""The build makes folders thousands of levels deep: what walks or removes them recursively fails for ever after."""

from tests.hostile.arena import Arena, Outcome

SCRIPT = """#!/bin/sh
python3 -c '
import os
for _ in range(5000):
    os.mkdir("d"); os.chdir("d")
open("x", "w")
' || perl -e 'for (1..5000) { mkdir "d"; chdir "d" }'
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(build="command = './probe'")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert "has folders that are nested so deeply" in outcome.report, outcome.said
    head = arena.git("rev-parse", "HEAD")
    assert not list(arena.home.glob(f"builds/*/{head}-*/tree")), "a failed build leaves no tree"
