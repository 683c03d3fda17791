"""`[run] memory_limit` asks for more than the sandbox allows."""

import json
import os

from tests.hostile.arena import Arena, Outcome

WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--output", "REPORT", "--samples", "1")
USERS = ("root",)


def prepare(arena: Arena) -> None:
    arena.workload('[run]\ncommand = "true"\nmemory_limit = "900000G"')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    limit = json.loads(outcome.report)[0]["environment"]["settings"]["process.memory_limit"]
    assert limit == "none" or int(limit) < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), outcome.said
