"""The address to clone from names a transport that runs a command."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("history", "--repo", "ext::sh -c touch% PWNED% ://x", "workload.toml")


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()
    arena.git("config", "--file", str(arena.person / ".gitconfig"), "protocol.ext.allow", "always")


def held(arena: Arena, outcome: Outcome) -> None:
    assert outcome.status == 2
    assert not (arena.subject / "PWNED").exists()
