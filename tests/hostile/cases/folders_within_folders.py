"""Ten folders that are one, of which each holds ten that are one: some kilobytes that list 10,000,000,000 paths."""

import subprocess

from tests.hostile.arena import Arena, Outcome


def _tree(arena: Arena, listing: str) -> str:
    made = ["git", "-C", str(arena.subject), "-c", "safe.directory=*", "mktree"]
    return subprocess.run(made, input=listing, capture_output=True, text=True, check=True).stdout.strip()


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()


def attack(arena: Arena) -> Outcome:
    base = arena.git("rev-parse", "HEAD")
    for leaf in (f"100644 blob {arena.git('rev-parse', 'HEAD:data')}\tf\n", ""):
        tree = _tree(arena, leaf)
        for _ in range(10):
            tree = _tree(arena, "".join(f"040000 tree {tree}\t{name}\n" for name in range(10)))
        top = _tree(arena, arena.git("ls-tree", base) + f"\n040000 tree {tree}\tzzz\n")
        arena.git("update-ref", "HEAD", arena.git("commit-tree", top, "-p", base, "-m", "bomb"))
        outcome = arena.run("gate", "workload.toml", f"{base}..HEAD", "--repo", ".", "--output", "REPORT")
        assert "the checkout would have more than 500,000 files and folders" in outcome.report, outcome.said
        assert outcome.seconds < 60
    return outcome
