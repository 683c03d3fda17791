"""Reads the events of a recording with ``perf script``."""

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
    """Yield the events of a recording, in the order of time.

    Parameters
    ----------
    file, fields
        The recording, and the options of ``perf script`` that select its fields.
    within
        Prefix of a sandbox for the command: perf reads untrusted binaries for the names of their functions.

    Raises
    ------
    FaultwatchError
        perf cannot read its own file, or its output cannot be parsed.
    """
    if not file.exists() or not file.stat().st_size:
        error = file.with_suffix(".error")
        message = error.read_text(encoding="utf-8", errors="replace").strip() if error.exists() else ""
        raise FaultwatchError(
            f"perf record wrote nothing: {message.splitlines()[0][:300] if message else 'no error message'}"
        )
    shown = ("--show-mmap-events", "--show-task-events", "--show-lost-events")
    # addr2line finds inlined functions and lines faster, because it handles all offsets of a binary at once.
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
            except ScriptError as error:
                process.kill()
                raise FaultwatchError(f"the output of perf script cannot be parsed: {error}") from None
            except BaseException:
                process.kill()
                raise
        error_file.seek(0)
        message = error_file.read(10_000).decode(errors="replace")
    if process.returncode:
        raise FaultwatchError(
            f"perf script failed: {message.strip().rpartition(chr(10))[2][:300] or 'no error message'}"
        )
