"""The profiled program is replaced by a pipe while it runs: who reads its segments afterwards waits for ever."""

from tests.hostile.arena import Arena

WORDS = ("profile", "workload.toml", "--repo", ".", "--sandbox")
SCRIPT = "#!/bin/sh\ncp probe again; chmod +x again; rm probe; mkfifo probe; chmod +x probe\n"


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(command="./probe")
    arena.commit()
