"""Commits whose title, author and date break those who parse the log: line separators, the year 30,000, no zone.

Some dates end git itself, when it writes them: those that their time zone moves beyond 64 bits.
"""

import subprocess

from tests.hostile.arena import Arena, Outcome

WORDS = ("history", "--repo", ".", "workload.toml", "HEAD~7..HEAD", "--sandbox")
TITLE = "one\u2028two\x0bthree\x0cfour\x1cfive\x85six\x1b[2J"
PEOPLE = (
    "a <a@b.invalid> 884541686400 +0000",
    "a <a@b.invalid> 99999999999999999999 +9999",
    "a <a@b.invalid> -1 -9959",
    "a <a@b.invalid> 9223372036854775807 +1400",
    "a <a@b.invalid> 9223372036854775808 -1200",
    "a\u2028b\x1c <a@b.invalid>",
    "<> 0",
)


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()
    tree, parent = arena.git("rev-parse", "HEAD^{tree}"), arena.git("rev-parse", "HEAD")
    for person in PEOPLE:
        text = f"tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\nencoding x\n\n{TITLE}\n"
        parent = (
            subprocess.run(
                ["git", "-C", str(arena.subject), "hash-object", "-t", "commit", "-w", "--literally", "--stdin"],
                input=text.encode(),
                capture_output=True,
                check=True,
            )
            .stdout.decode()
            .strip()
        )
    arena.git("update-ref", "HEAD", parent)


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.said
    assert "8 revisions: 8 measured" in outcome.output, outcome.said
    assert "\x1b[2J" not in outcome.said
