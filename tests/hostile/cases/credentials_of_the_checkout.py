"""`.git/config` holds the token of the checkout: the root workload's folder is copied, or a link names it."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'sh -c \"cat .git/config; ls -a; exit 1\"'")
    arena.write("driver.c", "int main(void) { return 0; }\n")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "driver.c" in outcome.report, outcome.said
