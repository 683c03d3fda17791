"""Checks the count of perf against the kernel's own accounts of the same execution.

Two accounts of the kernel have the faults of an execution besides perf: the one of each process, which the launcher
takes of all that it waits for, and the one of the control group. Each is an exact sum, and they differ from perf by
what the kernel's source says, and by nothing else (``mm_account_fault``). As root the three agree to the fault: a Java
program that takes between 36,000 and 42,000 faults differs by 1 in each of its executions. What they differ by:

- A fault that the kernel takes without the program having touched the address is in the accounts, and perf has no event
  for it: ``MAP_POPULATE``, ``mlock``, direct transfers, writing to another process's memory, and a page or more of
  arguments for each program that is executed.
- If this user may count in user space only, perf has none of the faults that the kernel takes while it copies from
  and to the program, as for ``read``, either.
- The account of a process is lost if its parent ignores the end of its children. perf counts these, the group too.
- A fault that fails, as behind the end of a file, is in the group's account only.
- The group's account may be late by a few hundred faults, and lacks them then. It never has too many.

So the accounts may well know of more faults than perf, and no number bounds by how many: buffers of a tensor are
populated with 100,000 pages; an ordinary user's Go program that reads files takes between 14,000 and 28,000 faults in
the kernel, and 1,500 outside of it; a scan of a cold file populates between 9,800 and 10,100 pages in turns. Neither a
share of the faults or of the time nor the difference of another execution tells such a program from one that perf lost.
If a process ignores the end of a child, the account does not even have what perf lost.

What does tell them apart is the record of what was executed (:mod:`runner.perf.lost_programs`). If it is complete and
names nothing, each program kept its counters until it ended, so that all of the difference is the kernel's own. If it
names a program, or is incomplete, the execution is refused, whatever the accounts say.
"""

from runner.perf.lost_programs import LostPrograms


def explain_miscount(perf_faults: int | float, kernel_faults: int | float, lost: LostPrograms) -> str:
    """Return why the count of perf is not right, as the second half of a sentence; empty if it is.

    Only ``lost`` decides that. The two counts may differ although perf lost nothing; they illustrate the sentence.

    Parameters
    ----------
    perf_faults
        The faults, minor and major, that perf counted.
    kernel_faults
        The faults in the larger of the kernel's own accounts.
    lost
        The programs of the execution that perf lost.
    """
    counts = f"perf counted {perf_faults:,} faults, the kernel's account has {kernel_faults:,}"
    if lost.names:
        return (
            f"executes {', '.join(map(repr, lost.names[:3]))}, which the kernel hides from perf: it changes its "
            f"user (set-user-ID), or this user may not read it ({counts})"
        )
    if not lost.complete:
        return (
            f"may have uncounted faults, because the record of the programs that it executes is incomplete: it starts "
            f"programs or maps code too fast to be recorded ({counts})"
        )
    return ""
