"""Page faults by the kind of memory. They distinguish a program with more code from one that uses more memory.

They are never judged separately: each of their faults is also a minor or a major fault, so a change would be reported
twice. They are shown next to a drift, to explain it.
"""

from runner.contract.metric import Kind, Metric

_DEFINITION_END = (
    "Counted in an additional execution, in which every fault is recorded. Available only if a sample has the same "
    "number of faults as this execution."
)


def _make_kind_metric(name: str, title: str, definition: str) -> Metric:
    return Metric(
        name, title, "faults", Kind.COUNT, "lower", judged=False, definition=f"{definition} {_DEFINITION_END}"
    )


FAULT_KINDS = (
    _make_kind_metric(
        "file-faults",
        "Faults in files",
        "Page faults, minor and major, on addresses at which a file is mapped: the code and data of the program, its "
        "loader and its libraries, and mapped data. Their number grows with the "
        "size of the program.",
    ),
    _make_kind_metric(
        "anonymous-faults",
        "Faults in other memory",
        "Page faults on all other addresses: heap, stack, anonymous and shared memory. They show how the program uses "
        "its memory.",
    ),
    _make_kind_metric(
        "kernel-faults",
        "Faults in the kernel",
        "Page faults of either kind that the kernel took while it copied data to or from the program's memory, as in "
        "`read()`. Not supported if the kernel lets this user count only the program's own faults.",
    ),
)
