"""The checkout brings a package named ``service``: `python -m service` of the embedded service would run it."""

from tests.hostile.arena import Arena, Outcome

THOROUGH = True


def prepare(arena: Arena) -> None:
    arena.write("service/__init__.py", f"open({str(arena.outside / 'pwned')!r}, 'w')\n")
    arena.write("service/__main__.py", f"open({str(arena.outside / 'pwned')!r}, 'w')\n")
    arena.workload()
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate: same" in outcome.output, outcome.said
