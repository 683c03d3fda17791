"""Says what changed between two profiles besides the faults: memory populated at once, processes and threads."""

from collections.abc import Iterator

from runner.contract.number_text import format_count
from service.rules.diagnose.process_contents import Runtime, identify_runtime
from service.rules.diagnose.profile_facts import Facts
from service.text.numbers import format_amount

_MIN_CHANGE_SHARE = 0.2
"""A change by less than this share of the larger number is left out: runtimes start a few threads more or fewer."""


def describe_work_without_faults(before: Facts, after: Facts) -> Iterator[str]:
    """Yield a sentence each on populated memory, processes and threads if the program has notably more or fewer."""
    populated_before, populated_after = before.populated_bytes, after.populated_bytes
    if _differ(populated_before, populated_after):
        side = after if populated_after > populated_before else before
        line = side.find_populating_line()
        place = f", mostly by {line}" if line else ""
        yield (
            "Memory that is populated at once, for example with MAP_POPULATE or mlock, takes no faults but must also "
            f"be cleared: {format_amount(populated_before)} before, {format_amount(populated_after)} after{place}."
        )
    forks_before, forks_after = before.anatomy.forks, after.anatomy.forks
    if _differ(forks_before, forks_after):
        noun = "process" if forks_after == 1 else "processes"
        yield f"The program starts {forks_after:,} {noun} ({forks_before:,} before), each with its own faults."
    # Other runtimes start threads when they find it useful, so their number also changes without a cause.
    threads_before, threads_after = before.anatomy.threads, after.anatomy.threads
    runtime = identify_runtime(after.profile)
    if _differ(threads_before, threads_after) and (runtime is None or runtime is Runtime.PYTHON):
        yield (
            f"The program starts {format_count(threads_after, 'thread')} ({threads_before:,} before), each with a "
            "stack and perhaps with an arena of malloc."
        )


def _differ(before: int, after: int) -> bool:
    return abs(after - before) > _MIN_CHANGE_SHARE * max(before, after)
