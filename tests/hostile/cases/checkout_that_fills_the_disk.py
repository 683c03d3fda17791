"""A commit of some kilobytes whose checkout takes hundreds of gigabytes: one blob, many names."""

import subprocess

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()
    big = arena.subject / "big"
    with big.open("wb") as stream:
        stream.truncate(64 << 20)
    blob = arena.git("hash-object", "-w", "big")
    big.unlink()
    listing = "".join(f"100644 blob {blob}\tf{number}\n" for number in range(2000))
    inner = subprocess.run(
        ["git", "-C", str(arena.subject), "mktree"], input=listing, capture_output=True, text=True, check=True
    ).stdout.strip()
    top = arena.git("ls-tree", "HEAD") + f"\n040000 tree {inner}\td\n"
    tree = subprocess.run(
        ["git", "-C", str(arena.subject), "mktree"], input=top, capture_output=True, text=True, check=True
    ).stdout.strip()
    arena.git("update-ref", "HEAD", arena.git("commit-tree", tree, "-p", "HEAD", "-m", "bomb"))


def held(_: Arena, outcome: Outcome) -> None:
    assert "the checkout would take" in outcome.report, outcome.said
