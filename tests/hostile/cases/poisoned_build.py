"""A run changes its own built tree, so that the next measurement of the same commit executes something else."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--report", "REPORT")
SCRIPT = """#!/bin/sh
test -e poisoned && echo POISONED && exit 1
touch poisoned
printf '#!/bin/sh\\necho POISONED; exit 1\\n' > tool
exit 0
"""


def prepare(arena: Arena) -> None:
    # The first execution may see its own tree; what a later session starts from is the question.
    arena.write("probe", SCRIPT.replace("test -e poisoned && echo POISONED && exit 1\n", "./tool\n"), executable=True)
    arena.write("tool", "#!/bin/sh\nexit 0\n", executable=True)
    arena.workload(build="command = 'true'", command="./tool")
    arena.commit("Good")


def held(arena: Arena, outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.said
    (tree,) = arena.home.glob("builds/*-*/tree")
    (tree / "tool").write_text("#!/bin/sh\necho POISONED; exit 1\n")
    again = arena.run(*WORDS)
    assert again.status == 0, again.said
    assert "POISONED" not in again.report
