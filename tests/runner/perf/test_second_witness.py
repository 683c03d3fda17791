"""What perf lost is refused, and no difference that is right."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.report import Stage
from runner.doctor.counting import require_measurable
from runner.perf.second_witness import Account, objection
from runner.perf.session import Execution, ExecutionFailure, count
from runner.process_state.process_state import ProcessState

faults, seconds = st.integers(0, 1 << 40), st.integers(0, 10**12).map(lambda microseconds: microseconds / 1e6)

PROGRAM = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
/* Touch pages in one of some ways: program HOW PAGES [PROGRAM]. */
int main(int count, char **words) {
    const char *how = words[1];
    long pages = atol(words[2]);
    if (strcmp(how, "child") == 0 || strcmp(how, "unwaited") == 0) {
        pid_t child = fork();
        if (child == 0) { execl(words[3], words[3], "touch", words[2], NULL); _exit(9); }
        if (strcmp(how, "child") == 0) { int status; waitpid(child, &status, 0); return status != 0; }
        return 0;
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (strcmp(how, "populate") == 0 ? MAP_POPULATE : 0);
    char *p = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (strcmp(how, "lock") == 0) return mlock(p, pages * 4096) != 0;
    if (strcmp(how, "read") == 0) {
        int pipes[2];
        if (pipe(pipes) != 0) return 1;
        for (long i = 0; i < pages; i++)
            if (write(pipes[1], "x", 1) != 1 || read(pipes[0], p + i * 4096, 1) != 1) return 1;
        return 0;
    }
    if (strcmp(how, "populate") != 0) for (long i = 0; i < pages; i++) *(volatile char *)(p + i * 4096) = 1;
    return 0;
}
"""


@given(faults, faults, seconds, seconds)
def test_only_a_lack_of_both_is_refused(few: int, many: int, short: float, long: float) -> None:
    less, more = sorted((few, many))
    quick, slow = sorted((short, long))
    assert not objection(Account(less, slow), Account(more, quick)), "all the time was seen"
    assert not objection(Account(more, quick), Account(less, slow)), "all faults were seen"
    assert not objection(Account(more, slow), Account(more, slow))
    if more > 17 and slow > 0:
        assert objection(Account(0, 0), Account(more, slow))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_measurable()
    folder = tmp_path_factory.mktemp("programs")
    (folder / "pages.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", "pages", "pages.c"], cwd=folder, check=True)
    return folder


def run(programs: Path, *command: str) -> Execution:
    return count(command, directory=programs, state=ProcessState(huge_pages="never"), timeout=20)


def counted(execution: Execution) -> int:
    value = execution.sample.readings["page-faults"].value
    assert isinstance(value, int)
    return value


@pytest.mark.perf
@pytest.mark.parametrize(
    ("how", "least"),
    [("touch", 5000), ("populate", 0), ("lock", 0), ("read", 5000), ("child", 5000), ("unwaited", 5000)],
)
def test_what_the_two_count_differently_for_good_reasons_is_no_loss(how: str, least: int, programs: Path) -> None:
    seen = counted(run(programs, "./pages", how, "5000", "./pages"))
    assert least <= seen < least + 200


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that changes its user")
@pytest.mark.parametrize("pages", ["1", "5000"])
def test_a_program_that_changes_its_user_is_refused(pages: str, programs: Path) -> None:
    hidden = programs / "hidden"
    shutil.copy(programs / "pages", hidden)
    os.chown(hidden, 1, 1)
    hidden.chmod(0o4755)
    with pytest.raises(ExecutionFailure, match=r"by the kernel's account, of which perf counted 0 ") as caught:
        run(programs, "./hidden", "touch", pages)
    assert caught.value.stage is Stage.MEASURE
    with pytest.raises(ExecutionFailure, match="hides programs from perf"):
        run(programs, "./pages", "child", "5000", "./hidden")
