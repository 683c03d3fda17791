"""Builds revisions in a process of its own, ahead of their measurement: see :mod:`runner.subject.build_ahead`.

Reads an order, a line of JSON, and then commits, a line each. Answers each commit with a line when its build has ended.
How it ended is in the cache: whoever measures the revision finds it there.
"""

import json
import socket
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runner.contract.code_trust import BuildStore
from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_cache import BuildCache, release_all
from runner.subject.repository import Repository
from runner.workload import Workload
from runner.workload.lookup import find_workload


def encode_order(builder: Builder, repository: Repository, workload: Workload) -> str:
    """Return the line of JSON that tells a worker what to build."""
    order = {
        "cache": asdict(builder.cache),
        "machine": dict(builder.machine),
        "sandbox": asdict(builder.sandbox) if builder.sandbox else None,
        "again": builder.again,
        "repository": asdict(repository),
        "workload": str(workload.path),
    }
    return json.dumps(order, default=str)


def decode_order(line: str) -> tuple[Builder, Repository, Workload]:
    """Return what a line of :func:`encode_order` says."""
    order: dict[str, Any] = json.loads(line)
    cache = order["cache"] | {"folder": Path(order["cache"]["folder"]), "store": BuildStore(order["cache"]["store"])}
    confined = order["sandbox"]
    folders = {name: tuple(confined[name]) for name in ("readable", "empty")} if confined else {}
    box = Sandbox(**confined | folders) if confined else None
    builder = Builder(BuildCache(**cache), order["machine"], box, again=order["again"])
    repository = Repository(**order["repository"] | {"path": Path(order["repository"]["path"])})
    return builder, repository, find_workload(order["workload"])


def main() -> None:
    """Build what comes over the socket whose descriptor is the argument, until the runner closes it."""
    with socket.socket(fileno=int(sys.argv[1])) as channel, channel.makefile("rw", encoding="utf-8") as lines:
        builder, repository, workload = decode_order(lines.readline())
        for line in lines:
            with suppress(BuildFailure, FaultwatchError, OSError):
                builder.build(repository, line.strip(), workload)
            release_all()
            lines.write(line)
            lines.flush()


if __name__ == "__main__":
    main()
