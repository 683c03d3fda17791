"""Builds revisions in a separate process, ahead of their measurement: see :mod:`runner.subject.build_ahead`.

A worker reads one line of JSON, which contains the order, and then one commit per line. When the build of a commit has
ended, the worker answers with a line. The measuring process finds the result of the build in the cache.
"""

import json
import socket
import sys
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from runner.errors import FaultwatchError
from runner.execution.build_clock import BuildClock
from runner.execution.sandbox import Sandbox
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_folders import BuildFolders, unlock_build_folders
from runner.subject.repository import Repository
from runner.workload import Workload
from runner.workload.workload_lookup import find_workload


class BuildOrder(Struct, frozen=True):
    """Says which repository's revisions a worker builds, and how. ``workload`` is the path of the workload file."""

    folders: BuildFolders
    machine_settings: dict[str, str]
    sandbox: Sandbox | None
    retry_failed: bool
    traces_lookups: bool
    reveals_host: bool
    repository: Repository
    workload: str


def encode_order(builder: Builder, repository: Repository, workload: Workload) -> str:
    """Return the line of JSON that contains the order for a worker."""
    order = BuildOrder(
        folders=builder.folders,
        machine_settings=dict(builder.machine_settings),
        sandbox=builder.sandbox,
        retry_failed=builder.retry_failed,
        traces_lookups=builder.traces_lookups,
        reveals_host=builder.reveals_host,
        repository=repository,
        workload=str(workload.path),
    )
    # The hook encodes paths. Use Python's own JSON encoder: it escapes bytes of a path that are not UTF-8.
    return json.dumps(to_builtins(order, enc_hook=str))


def decode_order(line: str) -> tuple[Builder, Repository, Workload]:
    """Return the contents of a line that :func:`encode_order` has made."""
    order = convert(json.loads(line), BuildOrder, dec_hook=lambda _, path: Path(path))
    builder = Builder(
        order.folders,
        order.machine_settings,
        order.sandbox,
        retry_failed=order.retry_failed,
        traces_lookups=order.traces_lookups,
        reveals_host=order.reveals_host,
    )
    return builder, order.repository, find_workload(order.workload)


def main() -> None:
    """Build the commits that arrive on a socket until the runner closes it.

    The arguments are the descriptors of the socket and of the clock of the builds.
    """
    with socket.socket(fileno=int(sys.argv[1])) as channel, channel.makefile("rw", encoding="utf-8") as lines:
        builder, repository, workload = decode_order(lines.readline())
        builder = replace(builder, clock=BuildClock(int(sys.argv[2])))
        for line in lines:
            with suppress(BuildFailure, FaultwatchError, OSError):  # The runner will meet the error too, and report it.
                builder.build(repository, line.strip(), workload)
            unlock_build_folders()
            lines.write(line)
            lines.flush()


if __name__ == "__main__":
    main()
