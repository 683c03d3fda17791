"""Page faults by what they hit: a program that grew by code is told from one that uses its memory otherwise.

None of them is judged by itself: each fault of theirs is one of the minor or major faults, which are, and a change
would be told twice. They stand beside a drift and say what it is made of.
"""

from runner.contract.metric import Kind, Metric

_FOLLOWED = (
    "Counted in one execution of the session that was followed fault by fault, where that took as many faults as a "
    "sample."
)


def _kind(name: str, title: str, definition: str) -> Metric:
    return Metric(name, title, "faults", Kind.COUNT, "lower", False, f"{definition} {_FOLLOWED}")


FAULT_KINDS = (
    _kind(
        "file-faults",
        "Faults in files",
        "Page faults, minor and major, on addresses at which a file is mapped: the code and data of the program, its "
        "loader and its libraries, and mapped data. They grow with the program.",
    ),
    _kind(
        "anonymous-faults",
        "Faults in other memory",
        "Page faults on all other addresses: heap, stack, anonymous and shared memory. They tell how the program uses "
        "its memory.",
    ),
    _kind(
        "kernel-faults",
        "Faults in the kernel",
        "Page faults, of either kind, that the kernel took while it copied to or from the program's memory, as in "
        "`read()`. Not supported where the kernel lets this user count the program's own faults only.",
    ),
)
