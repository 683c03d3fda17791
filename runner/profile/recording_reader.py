"""A file that perf recorded → events."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.start_block import BASE_VARIABLES
from runner.profile.script_parser import Event, ScriptError, parse_script

ADDRESSES = ("-F", "sw:pid,tid,time,event,addr,ip,sym,symoff,dso")
STACKS = ("-F", "sw:pid,tid,time,event,ip,sym,symoff,dso", "--show-switch-events")
TRACED = ("-F", "trace:pid,tid,time,event,trace")


def recorded_events(file: Path, *fields: str, within: Sequence[str] = ()) -> Iterator[Event]:
    """Read what was recorded, in the order of time.

    Parameters
    ----------
    file, fields
        What was recorded, and what of it is asked of perf.
    within
        What stands before the command: perf reads the binaries of strangers for the names of their functions.

    Raises
    ------
    FaultwatchError
        Where perf cannot read its own file, or prints what cannot be understood.
    """
    if not file.exists() or not file.stat().st_size:
        error = file.with_suffix(".error")
        said = error.read_text(encoding="utf-8", errors="replace").strip() if error.exists() else ""
        raise FaultwatchError(f"perf record wrote nothing: {said.splitlines()[0][:300] if said else 'it said nothing'}")
    shown = ("--show-mmap-events", "--show-task-events", "--show-lost-events")
    # Inlined functions and lines are asked of addr2line, which is asked once for all of a binary's places.
    words = [*within, "perf", "script", "-i", str(file), "--no-inline", "--ns", *fields, *shown]
    with tempfile.TemporaryFile() as error_file:
        with subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=error_file,
            env=dict(BASE_VARIABLES),
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout is not None
            try:
                yield from parse_script(process.stdout)
            except ScriptError as trouble:
                process.kill()
                raise FaultwatchError(f"perf script printed what cannot be understood: {trouble}") from None
            except BaseException:
                process.kill()
                raise
        error_file.seek(0)
        said = error_file.read(10_000).decode(errors="replace")
    if process.returncode:
        raise FaultwatchError(f"perf script failed: {said.strip().rpartition(chr(10))[2][:300] or 'it said nothing'}")
