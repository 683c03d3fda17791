"""The build leaves folders and files that their owner must not change, read or remove, to fill the cache for ever."""

from tests.hostile.arena import Arena, Outcome

SCRIPT = """#!/bin/sh
mkdir -p a/b/c && touch a/b/c/file && chmod 0 a/b/c/file a/b/c a/b && chmod 0500 a
test -e fail && exit 1
exit 0
"""


def prepare(arena: Arena) -> None:
    arena.workload(build="command = './make.sh'")
    arena.write("make.sh", "#!/bin/sh\n", executable=True)
    arena.commit("A harmless build")
    arena.write("make.sh", SCRIPT, executable=True)
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    expected = "gate: same" if arena.user == "root" else "cannot be"
    assert expected in outcome.said + outcome.report, outcome.said
    arena.write("fail", "")
    arena.commit()
    trees = len(list(arena.home.glob("builds/*/*/tree")))
    failed = arena.run("measure", "workload.toml", "--repo", ".", "--sandbox")
    assert failed.status == 1, failed.said
    assert len(list(arena.home.glob("builds/*/*/tree"))) == trees, "a failed build leaves no tree"
    # And they can be evicted.
    (arena.subject / "fail").unlink()
    arena.write("make.sh", "#!/bin/sh\n", executable=True)
    arena.commit()
    gate = ("gate", "workload.toml", "HEAD~1..HEAD", "--repo", ".")
    assert arena.run(*gate, environment={"FAULTWATCH_BUILDS_GIB": "0.000000001"}).status in {0, 1}
    left = [folder for folder in arena.home.glob("builds/pullreq/*-*") if folder.is_dir()]
    assert len(left) <= 2, left
