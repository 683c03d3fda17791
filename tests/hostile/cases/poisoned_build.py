"""A run changes its own built tree, so that the next measurement of the same commit executes something else."""

import json

from tests.hostile.arena import Arena, Outcome

THOROUGH = True
WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--output", "REPORT")
# The executions of a session may see what the earlier ones left; what the next session starts from is the question.
SCRIPT = """#!/bin/sh
echo run >> runs
test "$(wc -l < runs)" -gt 6 && echo POISONED && exit 1
mkdir -p kept && touch kept/file 2>/dev/null
chmod 0500 kept
exit 0
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(build="command = 'true'", command="./probe")
    arena.commit("Good")


def held(arena: Arena, outcome: Outcome) -> None:
    assert _build(outcome) == ("measured", False), outcome.said
    (tree,) = arena.home.glob("builds/sandbox/*/tree")
    assert (tree / "kept").exists()
    (tree / "probe").write_text("#!/bin/sh\necho POISONED; exit 1\n")
    for _ in range(2):
        again = arena.run(*WORDS)
        assert _build(again) == ("measured", True), again.said
    # What ran in a sandbox is never executed without one.
    trusted = tuple("--no-sandbox" if word == "--sandbox" else word for word in WORDS)
    assert _build(arena.run(*trusted)) == ("measured", False)
    assert not list(arena.home.glob("builds/sandbox/*/built/tree/runs"))


def _build(outcome: Outcome) -> tuple[str, bool]:
    (run,) = json.loads(outcome.report)
    return run["outcome"], run["build"]["cached"]
