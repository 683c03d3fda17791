"""Checks whether perf counted all faults of an execution.

Besides perf, two accounts of the kernel contain the faults of an execution: the accounts of the processes, which the
launcher adds up for all processes that it waits for, and the account of the control group. Both are exact sums. By the
kernel's source (``mm_account_fault``), they differ from the count of perf only for the reasons below. As root, all
three agree to within a fault, even for a Java program whose executions take between 36,000 and 42,000 faults.

- Faults that the kernel takes although the program has not touched the address are in the accounts, but perf has no
  event for them: ``MAP_POPULATE``, ``mlock``, direct I/O, writing to another process's memory, and a page or more of
  arguments for each program that is executed.
- If this user may count only in user space, perf also lacks the faults that the kernel takes while it copies from and
  to the program, for example in ``read``.
- The account of a process is lost if its parent ignores the end of its children. perf and the control group count it.
- A fault that fails, for example beyond the end of a file, is only in the account of the control group.
- The account of the control group may lag behind, and then lacks a few hundred faults. It never has too many.

The accounts can therefore contain more faults than perf counted, without any upper bound: buffers of a tensor are
populated with 100,000 pages; a Go program of an ordinary user that reads files takes 14,000 to 28,000 faults in the
kernel, and 1,500 outside of it; a scan of a cold file populates between 9,800 and 10,100 pages, depending on the
execution. Neither a share of the faults or of the time, nor a comparison with another execution, can tell such a
program from a program that perf lost. And if a process ignores the end of a child, the accounts of the processes lack
the lost faults too.

Only the record of the executed programs (:mod:`runner.perf.lost_programs`) decides. If it is complete and contains no
lost program, every program kept its counters until it ended, and the whole difference comes from the kernel's own
faults. If it contains a lost program, or is incomplete, the execution is refused, whatever the accounts say.
"""

from runner.contract.number_text import choose_unit
from runner.perf.lost_programs import LostPrograms, describe_hidden_names


def explain_miscount(perf_faults: int | float, kernel_faults: int | float, lost_programs: LostPrograms) -> str:
    """Return why the count of perf cannot be trusted, as the predicate of a sentence; empty if it can.

    Only ``lost_programs`` decides this. The two counts, which can differ even if perf lost nothing, are only quoted.

    Parameters
    ----------
    perf_faults
        The faults, minor and major, that perf counted.
    kernel_faults
        The faults in the larger of the kernel's own accounts.
    lost_programs
        The programs of the execution that perf lost.
    """
    unit = choose_unit(perf_faults, "faults")
    counts = f"perf counted {perf_faults:,} {unit}; the kernel itself counted {kernel_faults:,}"
    if lost_programs.names:
        return f"{describe_hidden_names(lost_programs.names)} ({counts})"
    if not lost_programs.complete:
        return (
            "may have uncounted faults, because the record of the programs that it executes is incomplete: it starts "
            f"programs or maps code too fast to be recorded, or nothing could be recorded at all ({counts})"
        )
    return ""
