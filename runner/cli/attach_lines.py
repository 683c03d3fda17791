"""Writes the results of an observation of live processes as lines of text: one each second, and some at the end."""

from datetime import UTC, datetime

from runner.attach.background_recording import Recordings
from runner.attach.live_figures import Interval
from runner.attach.live_program import LiveProgram
from runner.attach.observe import LiveLine, Outcome
from runner.attach.process_choice import ProcessChoice
from runner.cli.activity import format_time_spent
from runner.contract import number_text
from runner.contract.number_text import format_count

_MAX_TITLE_CHARACTERS = 100
_MIN_GROWTH_BYTES = 1 << 20
"""A smaller change of the resident memory is not worth mentioning."""
_MIN_UNKNOWN_SECONDS = 2.0
"""If a process is younger than this when its observation begins, its unknown past is too short to be mentioned."""


def format_heading(choice: ProcessChoice, program: LiveProgram, now: datetime) -> str:
    """Return what is observed: the program, its processes, its age, its allocator and runtime."""
    parts = [f"{program.name} {program.process.pid}"]
    if len(choice.pids) > 1:
        parts.append(f"{len(choice.pids)} processes")
    if program.started_at:
        parts.append(f"{format_age(program.started_at, now)} old")
    if program.allocator and program.allocator != program.runtime:
        parts.append(f"memory from {program.allocator}")
    if program.runtime:
        parts.append(program.runtime)
    return f"{', '.join(parts)}: {program.process.title[:_MAX_TITLE_CHARACTERS]}"


def format_live_line(line: LiveLine) -> str:
    """Return the figures of one second."""
    interval = line.interval
    used_figures, waits = interval.used_figures, interval.waits
    # Avoid divisors of 0: an interval can be empty, and a process that has just ended has no threads.
    seconds = max(0.001, interval.seconds)
    threads = max(1, used_figures.threads)
    parts = [
        f"{line.elapsed:4.0f} s",
        f"{used_figures.minor / seconds:10,.0f} minor {used_figures.major / seconds:6,.0f} major faults/s",
        f"{used_figures.faults / seconds / threads:9,.0f} a thread",
        f"{used_figures.cpu / seconds:5.2f} CPUs, {100 * interval.system_share:3.0f} % system",
        f"lock {_format_percent(waits.lock, waits.samples)}, storage {_format_percent(waits.storage, waits.samples)}",
        f"{_format_bytes(used_figures.resident)} ({_format_growth(interval.resident_growth)})",
        format_count(used_figures.threads, "thread"),
        f"cost {100 * line.cost:.2f} %",
    ]
    return "  ".join(parts)


def format_age(started_at: datetime, now: datetime) -> str:
    """Return how long a process has been running: 12 s, 3 min 20 s, 5 h, 12 days."""
    seconds = max(0.0, (now - started_at).total_seconds())
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.0f} days"
    return f"{seconds / 3600:.0f} h" if seconds >= 2 * 3600 else format_time_spent(seconds)


def describe_outcome(outcome: Outcome) -> list[str]:
    """Return how long the observation took, what the processes used, what was recorded, and what this cost."""
    observation, recordings = outcome.observation, outcome.recordings
    interval = observation.interval
    end_reason = f" ({outcome.reason})" if outcome.reason else ""
    return [
        f"Observed for {interval.seconds:.1f} s{end_reason}: {interval.used_figures.faults:,} faults, "
        f"{interval.used_figures.cpu:.1f} s of CPU time, {100 * interval.system_share:.0f} % of it in the kernel"
        f"{describe_growth(interval)}.",
        f"Recorded: {describe_recordings(recordings, interval.seconds)}.",
        f"Cost: {100 * outcome.cost:.2f} % of the observed CPU time; perf and this command used "
        f"{100 * outcome.own_share:.2f} % of the host's CPU capacity.",
    ]


def describe_growth(interval: Interval) -> str:
    """Return by how much the resident memory grew or shrank, as a clause; empty if it hardly changed."""
    growth = interval.resident_growth
    if abs(growth) < _MIN_GROWTH_BYTES:
        return ""
    verb = "grew" if growth > 0 else "shrank"
    rate = _format_bytes(round(abs(growth) / max(0.001, interval.seconds)))
    return f"; the resident memory {verb} by {_format_bytes(abs(growth))} ({rate} per second)"


def describe_recordings(recordings: Recordings, seconds: float) -> str:
    """Return what was recorded, for how long, and what share of the events."""
    budget = recordings.budget
    parts = []
    if recordings.addresses:
        parts.append(f"each fault with its address, for {recordings.addresses.seconds:.1f} of {seconds:.0f} s")
    if recordings.sampled_recording and budget:
        parts.append(
            f"{_describe_period(recordings.sampled_recording.period)} with its address, for "
            f"{recordings.sampled_recording.seconds:.1f} s"
        )
    if recordings.stacks and budget:
        parts.append(
            f"the stacks of {_describe_period(budget.fault_period)} and of every {budget.clock_period / 1e6:.1f} ms of "
            f"CPU time, for {sum(part.seconds for part in recordings.stacks):.1f} s"
        )
    if recordings.switches:
        parts.append(f"waiting threads, for {recordings.switches.seconds:.1f} s")
    return "; ".join(parts) or "nothing"


def _describe_period(period: int) -> str:
    return "each fault" if period == 1 else f"one fault in {period:,}"


def describe_unknown_past(program: LiveProgram, started_at: datetime) -> str:
    """Return what is unknown about the past of a process; empty if it had only just started when observed."""
    age = (started_at - program.started_at).total_seconds() if program.started_at else None
    if age is not None and age < _MIN_UNKNOWN_SECONDS:
        return ""
    age_text = f"{format_age(program.started_at, started_at)} " if program.started_at else ""
    return (
        f"The process started {age_text}before this observation. What it touched and mapped before it was observed is "
        "unknown: the first fault on a page counts as its first touch, unless the page was resident or had "
        "just been freed."
    )


def _format_percent(part: int, total: int) -> str:
    return f"{100 * part / total:.0f} %" if total else "–"


def _format_bytes(byte_count: int) -> str:
    return number_text.replace_no_break_spaces(number_text.format_quantity(byte_count, "bytes"))


def _format_growth(byte_count: int) -> str:
    return f"{'+' if byte_count >= 0 else '−'}{_format_bytes(abs(byte_count))}"


def get_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)
