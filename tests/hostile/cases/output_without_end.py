"""The program prints without end."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--output", "REPORT", "--samples", "1")


def prepare(arena: Arena) -> None:
    arena.workload(command="yes planted")
    path = arena.subject / "workload.toml"
    path.write_text(path.read_text().replace("timeout = 20", "timeout = 2"))
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert len(outcome.report) < 1 << 20
    assert "did not finish within 2 s" in outcome.report, outcome.said
