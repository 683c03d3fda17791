"""The checkout brings modules named like those that Python imports as it starts: json, pyperf, sitecustomize."""

from tests.hostile.arena import Arena, Outcome

NAMES = ("json", "pyperf", "gunicorn", "sitecustomize", "usercustomize", "flask", "click", "re")


def prepare(arena: Arena) -> None:
    for name in NAMES:
        arena.write(f"{name}.py", f"open({str(arena.outside / name)!r}, 'w')\n")
    arena.write("gunicorn.conf.py", f"open({str(arena.outside / 'conf')!r}, 'w')\n")
    arena.workload()
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate: same" in outcome.output, outcome.said
