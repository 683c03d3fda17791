"""A job that a service with tokens starts on its own machine: its repository wants the service's keys and tokens.

The same by a runner elsewhere, which claims the job with its own token, as the workflows do.
"""

from pathlib import Path

from tests.hostile import served
from tests.hostile.arena import Arena, Outcome
from tests.hostile.served import Served

SCRIPT = """#!/bin/bash
# Reads keys, tokens, databases, logs and variables, writes, calls the service, and stays. It prints itself as well, so
# the words that show a success are not in it as they are printed.
env
cat /proc/*/environ {secret} 2>&1
find {folder} -type f -size -9000k -exec cat {{}} + 2>/dev/null
find / -xdev \\( -name '*.key' -o -name .netrc -o -name 'runner.token' \\) -exec cat {{}} + 2>/dev/null
for place in {outside} /etc /usr; do
    echo pwned > $place/pwned-file 2>/dev/null && echo "WRIT""TEN $place"
done
# The folders above the tree are the sandbox's own; what is written there must not reach the host.
for place in {home} {home}/jobs {home}/spool {home}/subjects; do echo pwned > $place/pwned-file; done 2>/dev/null
(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo "REA""CHED"
printf '\\033]0;pwned\\007\\n::error::pwned\\n'
setsid sh -c 'trap "" TERM HUP INT; cd {folder}; while :; do sleep 1; done' >/dev/null 2>&1 &
echo "DONE $1"
exit $2
"""


def prepare(arena: Arena) -> None:
    # Harmless until the port of the service is known.
    arena.workload()


def attack(arena: Arena) -> Outcome:
    elsewhere = arena.folder / "elsewhere"
    elsewhere.mkdir()
    with served.serve(
        arena, arena.home, FAULTWATCH_JOBS_HERE="yes", SMTP_PASSWORD=arena.secrets["password"]
    ) as service:
        _write(arena, service)
        service.know(arena.home)
        service.know(elsewhere)
        for name in ("reads", "links", "events"):
            service.wait(service.order("local", workload=f"{name}/workload.toml"))
        arena.plant("runner-token", arena.person / "runner.token")
        arena.planted[-1].write_text(service.token("runner", "read", "report"))
        done = [
            _claim(arena, service, elsewhere, service.order("caller", kind=kind, workload="reads/workload.toml"))
            for kind in ("measure", "profile")
        ]
        return served.outcome(service, *done)


def _claim(arena: Arena, service: Served, home: Path, job: int) -> Outcome:
    return arena.run(
        *("job", "run", "--sandbox", "--repo", ".", "--", str(job)),
        environment={
            "FAULTWATCH_HOME": str(home),
            "FAULTWATCH_HOST": "elsewhere",
            "FAULTWATCH_URL": service.url,
            "FAULTWATCH_TOKEN_FILE": str(arena.person / "runner.token"),
        },
    )


def _write(arena: Arena, service: Served) -> None:
    places = {
        "folder": arena.folder,
        "home": arena.home,
        "outside": arena.outside,
        "port": service.url.rpartition(":")[2],
        "secret": " ".join(map(str, arena.planted)),
    }
    arena.write("reads/probe", SCRIPT.format(**places), executable=True)
    folder = "directory = 'workload'\n"
    arena.workload(build=f"{folder}command = './probe build 0'", command="./probe run 1", folder="reads/")
    arena.link("links/session", arena.home / "session.key")
    arena.workload(build=f"{folder}command = 'cat session'", folder="links/")
    arena.workload('[metrics]\nevents = ["probe:/etc/passwd", "/tmp/evil.so/"]\n', folder="events/")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    shown = outcome.report
    assert shown.count("DONE build") >= 2, outcome.said
    assert shown.count("DONE run") >= 2, outcome.said
    assert "points outside" in shown, shown[-5000:]
    assert "REACHED" not in shown
    assert "WRITTEN" not in shown
    assert not list(arena.folder.rglob("pwned-*"))
    texts = [outcome.said, *(data.decode() for path, data in outcome.published.items() if path.endswith("/log"))]
    assert len(texts) == 6, "five jobs have an address of a log"
    for text in texts:
        assert "\x1b" not in text
        assert not [line for line in text.splitlines() if line.strip().startswith("::")], text
