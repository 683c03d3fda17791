"""Every text that a stranger writes carries commands of CI systems within its lines: keys, names, titles, logs, files.

GitHub's agent takes ``##[set-output name=report;]FILE`` anywhere in a line, whoever writes it: the next step of the
workflow would upload that file. TeamCity, Azure and readers of JUnit have commands that upload files, too.
"""

from tests.hostile.arena import Arena, Outcome
from tests.log_readers import commands_in

_COMMANDS = (
    "x ##[set-output name=report;]/etc/shadow",
    "x ##vso[artifact.upload artifactname=x]/etc/shadow",
    "x ##teamcity[publishArtifacts '/etc/shadow']",
    "[[ATTACHMENT|/etc/shadow]]",
    "#\N{VARIATION SELECTOR-16}#[add-matcher]x",
)


def prepare(arena: Arena) -> None:
    arena.write("say", "#!/bin/sh\ncat lines >&2; exit 1\n", executable=True)
    arena.write("lines", "\n".join([*_COMMANDS, "  ::add-mask::1", "section_start:1:x"]))
    keys = "\n".join(f'"{command}" = 1' for command in _COMMANDS)
    arena.write("keys.toml", f'[workload]\nname = "hostile"\n[run]\ncommand = "true"\n[metrics.budget]\n{keys}\n')
    arena.write("key.toml", f'[workload]\nname = "hostile"\n"{_COMMANDS[0]}" = 1\n[run]\ncommand = "true"\n')
    values = ", ".join(f'"{command}"' for command in _COMMANDS)
    arena.workload(f'[run]\ncommand = ["./say", "{{p}}"]\n[matrix]\np = [{values}]')
    arena.commit(_COMMANDS[0])


def attack(arena: Arena) -> Outcome:
    report = arena.folder / "report"
    files = ("--junit", f"{report}/junit.xml", "--sarif", f"{report}/sarif", "--code-quality", f"{report}/quality")
    words = [
        ("gate", "workload.toml", "HEAD~1..HEAD", "--repo", ".", *files),
        ("gate", "workload.toml", "HEAD~1..HEAD", "--repo", ".", "--json"),
        ("gate", "workload.toml", "HEAD~1..HEAD", "--repo", ".", "--output", "/dev/stdout"),
        ("measure", "--sandbox", "workload.toml", "--repo", "."),
        ("gate", "keys.toml", "HEAD~1..HEAD", "--repo", "."),
        ("gate", "key.toml", "HEAD~1..HEAD", "--repo", "."),
        ("measure", "--set", "shadow##[x]=1", "workload.toml", "--repo", "."),
    ]
    done = [arena.run(*each) for each in words]
    texts = [text for one in done for text in (one.output, one.error)]
    assert all("shadow" in one.said or "/dev/stdout" in words[at] for at, one in enumerate(done)), [
        one.said for one in done
    ]
    found = [line for text in texts for line in commands_in(text)]
    assert not found, found
    assert not [line for file in ("junit.xml", "sarif", "quality") for line in commands_in((report / file).read_text())]
    outputs = (report / "outputs").read_text().splitlines()
    assert all(line.startswith(("verdict=failed", "report=/proc/")) for line in outputs), outputs
    return done[0]
