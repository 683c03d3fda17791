"""A build without a sandbox prints the environment: what the job's secrets were is taken out of its log."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("measure", "workload.toml", "--repo", ".", "--no-sandbox", "--report", "REPORT")


def prepare(arena: Arena) -> None:
    # The builder passes no variable on, but /proc shows its parent's.
    arena.workload(build="command = ['sh', '-c', 'tr \"\\\\0\" \"\\\\n\" < /proc/$PPID/environ; exit 1']")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "FAULTWATCH_HOST=host" in outcome.report, outcome.said
