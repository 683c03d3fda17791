"""Finds the processes of a container by its id in the names of control groups, or by asking a container engine."""

import shutil
import subprocess
from collections.abc import Mapping

from runner.attach.process_choice import (
    ProcessChoice,
    choose_process_by_pid,
    choose_processes_by_container_id,
    list_container_ids,
)
from runner.attach.process_table import LiveProcess
from runner.errors import FaultwatchError

_ENGINES = ("podman", "docker", "nerdctl")
_TIMEOUT_SECONDS = 10.0


def find_container(table: Mapping[int, LiveProcess], name: str) -> ProcessChoice:
    """Choose all processes of a container.

    Parameters
    ----------
    name
        The beginning of its id, or the name that a container engine knows.

    Raises
    ------
    FaultwatchError
        There is no such container, nothing knows its name, or the ids of several containers begin with it.
    """
    choice = choose_processes_by_container_id(table, name)
    if choice is not None:
        return choice
    engines = [engine for engine in _ENGINES if shutil.which(engine)]
    for engine in engines:
        pid = _ask_for_process(engine, name)
        if pid is not None and pid in table:
            return choose_process_by_pid(table, pid)
    ids = list_container_ids(table, name)
    if len(ids) > 1:
        raise FaultwatchError(
            f"the ids of {len(ids)} containers begin with {name!r}", "pass more digits of one container's id"
        )
    remedy = "pass the id of a process in the container"
    if not engines:
        raise FaultwatchError(
            f"no running container has the id {name!r}, and no program that knows the names of containers is installed "
            f"here ({', '.join(_ENGINES)})",
            remedy,
        )
    raise FaultwatchError(
        f"found no running container named {name!r}; asked: {', '.join(engines)}",
        f"list the containers with `{engines[0]} ps`, as the user who started them; or {remedy}",
    )


def _ask_for_process(engine: str, name: str) -> int | None:
    """Return the first process of a container; None if the engine does not know it, or it does not run.

    None too if the engine cannot be started, or does not answer in time.
    """
    command = [engine, "inspect", "--type", "container", "--format", "{{.State.Pid}}", "--", name]
    try:
        result = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # an engine repeats the name in it, which may be in no encoding
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_SECONDS,
            text=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = result.stdout.strip()
    if result.returncode or not text.isdecimal():
        return None
    return int(text) or None  # The engine prints 0 for a container that does not run.
