"""`workload.toml` is a link to another checkout's: its folder would be copied."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    other = arena.work / "other"
    (other / "workload.toml").write_text(
        '[workload]\nname = "w"\n[build]\ndirectory = "workload"\ncommand = "sh -c \'cat secret.txt; exit 1\'"\n'
        '[run]\ncommand = "true"\n'
    )
    arena.link("workload.toml", "../other/workload.toml")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is a link that points outside its folder" in outcome.error, outcome.said
