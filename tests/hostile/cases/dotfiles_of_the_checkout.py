"""The checkout holds the files that tools read in the current directory: .gdbinit, .perfconfig, .env and others."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    run = f"touch {arena.outside}"
    arena.write(".gdbinit", f"shell {run}/gdb\n")
    arena.write(".perfconfig", f"[annotate]\n\tobjdump = {run}/perf\n[top]\n\tcall-graph = dwarf\n[core]\n\tx = y\n")
    for name in (".env", ".flaskenv"):
        arena.write(name, "FLASK_APP=evil\nFLASK_DEBUG=1\nDATABASE_URL=sqlite:////dev/null\nFAULTWATCH_URL=http://[\n")
    arena.write("evil.py", f"open({str(arena.outside / 'flask')!r}, 'w')\n")
    arena.write("conftest.py", f"open({str(arena.outside / 'pytest')!r}, 'w')\n")
    arena.write(".pdbrc", f"import os; os.system({f'{run}/pdb'!r})\n")
    arena.write(".gitconfig", f"[core]\n\tfsmonitor = {run}/git\n\tpager = {run}/pager\n")
    arena.write(".netrc", "machine example.invalid login a password b\n")
    arena.write(".bashrc", f"{run}/bash\n")
    arena.write("alembic.ini", "[alembic]\nscript_location = .\n")
    arena.write("env.py", f"open({str(arena.outside / 'alembic')!r}, 'w')\n")
    arena.workload()
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert "gate: same" in outcome.output, outcome.said
    assert arena.run("profile", "workload.toml", "--repo", ".", "--sandbox").status == 0
    assert not list(arena.outside.iterdir())
