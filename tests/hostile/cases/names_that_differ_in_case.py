"""Names that are one name elsewhere: .GIT beside .git, letters in two compositions, and in two cases."""

import subprocess

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'sh -c \"cat .git/config .GIT/config .Git/config\"'")
    arena.write("Workload.toml", "[workload]\nname = 'other'\n")
    arena.write("caf\u00e9", "one\n")
    arena.write("cafe\u0301", "two\n")
    arena.commit()
    blob = arena.git("rev-parse", "HEAD:README")
    for name in (".GIT", ".g\u200cit", ".git ", "git~1", ".git\u2044config"):
        inner = _tree(arena, f"100644 blob {blob}\tconfig\n")
        top = arena.git("ls-tree", "HEAD") + f"\n040000 tree {inner}\t{name}\n"
        tree = _tree(arena, top)
        commit = arena.git("commit-tree", tree, "-p", "HEAD", "-m", "another name of .git")
        arena.git("update-ref", "HEAD", commit)


def _tree(arena: Arena, listing: str) -> str:
    words = ["git", "-C", str(arena.subject), "mktree"]
    return subprocess.run(words, input=listing, capture_output=True, text=True, check=True).stdout.strip()


def held(arena: Arena, outcome: Outcome) -> None:
    assert outcome.status in {0, 1, 2}, outcome.said
    done = arena.run("gate", "workload.toml", "HEAD~6..HEAD", "--repo", ".", "--output", "REPORT")
    assert done.status in {0, 1, 2}, done.said
    arena.look(done)
