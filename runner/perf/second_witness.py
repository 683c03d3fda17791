"""Compares what perf counted with two accounts of the kernel's own, and says if perf lost anything.

perf's count is compared for every execution: with the account that the kernel keeps of each process, which the
launcher takes of all that it waits for, and with the faults that the control group took, where there is one. Each is
an exact sum, and each differs from the others by what the kernel's source says, and by nothing else
(``mm_account_fault``). As root the three agree to the fault: a Java program that takes between 36,000 and 42,000 faults
differs by 1 in each of its executions. What they differ by:

- A fault that the kernel takes without the program having touched the address is in the accounts, and perf has no event
  for it: ``MAP_POPULATE``, ``mlock``, direct transfers, writing to another process's memory, and a page or more of
  arguments for each program that is executed.
- Where this user may count in user space only, perf has none of the faults that the kernel takes while it copies from
  and to the program, as for ``read``, either.
- The account of a process is lost if its parent ignores the end of its children. perf counts these, the group too.
- A fault that fails, as behind the end of a file, is in the group's account only.
- The group's account may be late by a few hundred faults, and lacks them then. It never has too many.

So the accounts may well know of more faults than perf, and no number bounds by how many: a filter of images populates
100,000 pages; an ordinary user's Go program that reads files takes between 14,000 and 28,000 faults in the kernel, and
1,500 outside of it; a scan of a cold file populates between 9,800 and 10,100 pages in turns. Neither a share of the
faults or the time nor the difference of another execution tells such a program from one that perf lost. What does is
the record of what was executed (:mod:`runner.perf.lost_programs`): if it is complete, each program kept its counters
until it ended, so all of the difference is the kernel's own. If perf lost a program, the execution is refused, however
little that took. If the record is incomplete, nothing explains a difference: it may be no larger than in an execution
of the case whose record was complete.
"""

from runner.perf.lost_programs import LostPrograms

FEW_FAULTS = 16
"""By how much executions of a case may differ in what the kernel takes: arguments, and files that others evict."""


class SecondWitness:
    """The witness of the executions of one case: it remembers the largest difference that was explained."""

    def __init__(self) -> None:
        self._explained = 0

    def objection(self, perf: int | float, accounts: int | float, lost: LostPrograms) -> str:
        """Return why the count of perf is not right, as the second half of a sentence; empty if it is.

        Parameters
        ----------
        perf
            The faults, minor and major, that perf counted.
        accounts
            Those that the kernel's own account has, the larger one.
        """
        if lost.names:
            return (
                f"executes {', '.join(map(repr, lost.names[:3]))}, which the kernel hides from perf: it changes its "
                "user (set-user-ID), or this user may not read it"
            )
        if lost.complete:
            self._explained = max(self._explained, int(accounts - perf))
            return ""
        missing = accounts - perf - self._explained
        if missing <= FEW_FAULTS:
            return ""
        return (
            f"took {accounts:,} faults by the kernel's account, of which perf counted {perf:,}. {missing:,} of these "
            "are not explained, because the records of what was executed did not fit into perf's buffers"
        )
