"""What may have passed the next time is told from what a program does every time."""

import pytest

from runner.execution.execute import ProgramResult
from runner.execution.temporary_failure import is_temporary


def finished(status: int | None, output: str = "", explanation: str = "") -> ProgramResult:
    return ProgramResult(status, output, "", 1.0, 2.0, explanation)


@pytest.mark.parametrize(
    "done",
    [
        finished(None),
        finished(-9),
        finished(-15),
        finished(143),
        finished(1, "as: BFD: can't write 4 bytes to section .text of x.o: No space left on device\n"),
        finished(2, "cc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n"),
        finished(2, "make: *** [Makefile:3: all] Killed\n"),
        finished(101, "error: rustc: process didn't exit successfully: `rustc` (signal: 9, SIGKILL: kill)\n"),
        finished(1, "cc1: out of memory\nvirtual memory exhausted: Cannot allocate memory\n"),
        finished(1, "curl: (6) Could not resolve host: example.invalid\n"),
        finished(-9, explanation="left too little free space on the disk"),
    ],
)
def test_the_state_of_the_host_is_temporary(done: ProgramResult) -> None:
    assert is_temporary(done)


@pytest.mark.parametrize(
    "done",
    [
        finished(2, "pages.c:3:1: error: expected ';' before '}' token\nmake: *** [Makefile:3: all] Error 1\n"),
        finished(-11),
        finished(-6, "terminate called after throwing an instance of 'std::logic_error'\n"),
        finished(-9, explanation="wrote more than 8,589,934,592 bytes into its folder"),
        finished(0, "warning: No space left on device, using the memory\n"),
    ],
)
def test_what_the_revision_does_every_time_is_not(done: ProgramResult) -> None:
    assert not is_temporary(done)
