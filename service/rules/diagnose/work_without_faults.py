"""Says what changed between two profiles besides the faults: memory populated at once, system calls, processes."""

from collections.abc import Iterator

from runner.contract.number_text import format_amount, format_count
from runner.contract.word_list import join_words
from service.rules.diagnose.process_contents import Runtime, identify_runtime
from service.rules.diagnose.profile_facts import Facts

_MEMORY_CALLS = ("madvise", "munmap", "mmap", "mremap", "mprotect", "brk", "msync", "fallocate", "ftruncate")
_MIN_CALLS, _MIN_CALL_RATIO, _MAX_NAMED_CALLS = 16, 2, 2
"""The calls of a system call are named if there are at least this many more or fewer, and this many times as many; of
several system calls, those that changed most."""
_MIN_CHANGE_SHARE = 0.2
"""A change by less than this share of the larger number is left out: runtimes start a few threads more or fewer."""


def describe_work_without_faults(before: Facts, after: Facts) -> Iterator[str]:
    """Yield a sentence on each of these that is notably more or less: populated memory, calls, processes, threads."""
    populated_before, populated_after = before.populated_bytes, after.populated_bytes
    if _differ(populated_before, populated_after):
        side = after if populated_after > populated_before else before
        line = side.find_populating_line()
        place = f", mostly by {line}" if line else ""
        yield (
            "Memory that is populated at once, for example with MAP_POPULATE or mlock, takes no faults but must also "
            f"be cleared: {format_amount(populated_before)} before, {format_amount(populated_after)} after{place}."
        )
    # Other runtimes start threads, and give memory back, when they find it useful.
    runtime = identify_runtime(after.profile)
    is_steady = runtime is None or runtime is Runtime.PYTHON
    if is_steady:
        yield from _describe_calls(before, after)
    forks_before, forks_after = before.anatomy.forks, after.anatomy.forks
    if _differ(forks_before, forks_after):
        noun = "process" if forks_after == 1 else "processes"
        yield f"The program starts {forks_after:,} {noun} ({forks_before:,} before), each with its own faults."
    threads_before, threads_after = before.anatomy.threads, after.anatomy.threads
    if is_steady and _differ(threads_before, threads_after):
        yield (
            f"The program starts {format_count(threads_after, 'thread')} ({threads_before:,} before), each with a "
            "stack and perhaps with an arena of malloc."
        )


def _describe_calls(before: Facts, after: Facts) -> Iterator[str]:
    """Yield a sentence on the system calls that are made much more or less often, if both sides counted them."""
    if before.profile.census is None or after.profile.census is None:
        return
    counts = {name: (before.count_calls(name), after.count_calls(name)) for name in _MEMORY_CALLS}
    changed = [
        name
        for name, pair in counts.items()
        if max(pair) - min(pair) >= _MIN_CALLS and max(pair) >= _MIN_CALL_RATIO * min(pair)
    ]
    changed.sort(key=lambda name: -abs(counts[name][1] - counts[name][0]))
    texts = [
        f"{name} {format_count(counts[name][1], 'time')} ({counts[name][0]:,} before)"
        for name in changed[:_MAX_NAMED_CALLS]
    ]
    if texts:
        yield f"The program calls {join_words(texts)}."


def _differ(before: int, after: int) -> bool:
    return abs(after - before) > _MIN_CHANGE_SHARE * max(before, after)
