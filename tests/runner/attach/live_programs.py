"""Programs that run while they are observed, and the command that observes them."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.runner.commands import command_line, variables

SOURCE = r"""
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 512, SIZE = PAGES << 12 };

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 12000000}, 0); }

static void touch_pages(char *memory)
{
    for (int page = 0; page < PAGES; page++)
        memory[page << 12] = 1; /* the line of the faults */
}

int main(int count, char **words)
{
    char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, SIZE, MADV_NOHUGEPAGE);
    for (;;) {
        if (count < 2)
            return 1;
        if (!strcmp(words[1], "returned")) {
            touch_pages(memory);
            madvise(memory, SIZE, MADV_DONTNEED);
            rest();
        } else if (!strcmp(words[1], "mapped")) {
            char *own = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            touch_pages(own);
            munmap(own, SIZE);
            rest();
        } else if (!strcmp(words[1], "forking")) {
            touch_pages(memory);
            if (fork() == 0) {
                rest();
                _exit(0);
            }
            touch_pages(memory);
            wait(0);
        } else if (!strcmp(words[1], "calling")) { /* thousands of calls in a second, and no fault */
            for (int turn = 0; turn < 100; turn++)
                madvise(memory, SIZE, MADV_WILLNEED);
            rest();
        } else { /* healthy: it works in memory that it keeps */
            for (int turn = 0; turn < 200; turn++)
                touch_pages(memory);
            rest();
        }
    }
}
"""
MIN_SAMPLES = 30
"""So many samples of the CPU time the diagnosis needs to know the cost of faults."""
LINE = 1 + SOURCE.split("\n").index("        memory[page << 12] = 1; /* the line of the faults */")


def build_program(folder: Path) -> Path:
    """Compile the program into a folder."""
    (folder / "live.c").write_text(SOURCE)
    subprocess.run(["cc", "-g", "-O1", "-fno-inline", "-o", "live", "live.c"], cwd=folder, check=True)
    return folder / "live"


@contextmanager
def run_program(words: Sequence[str | Path], seconds: float = 120) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the context ends, or for some time."""
    process = subprocess.Popen(["timeout", "--foreground", str(seconds), *words], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        yield process
    finally:
        process.terminate()
        process.wait()


def find_child(process: subprocess.Popen[bytes]) -> int:
    """Return the program that ``timeout`` runs."""
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def observe(home: Path, *words: str) -> tuple[dict[str, Any], str]:
    """Observe a process; return the result and what was shown meanwhile.

    The programs rest most of the time, and have little of it on a busy machine: more of it is recorded than usual.
    """
    command = command_line("attach", *words, "--most-overhead", "5%", "--json")
    done = subprocess.run(command, env=variables(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def observe_until_sampled(home: Path, *words: str) -> tuple[dict[str, Any], str]:
    """Observe a process until its CPU time was sampled often enough for a diagnosis, for at most half a minute.

    A busy host can leave a program so little time that a few seconds are not enough.
    """
    for seconds in (5, 10, 20):
        result, shown = observe(home, *words, "--for", f"{seconds}s")
        if (result["profile"]["on_cpu"] or {"samples": 0})["samples"] >= MIN_SAMPLES:
            break
    return result, shown


def list_temporary_files(home: Path) -> list[str]:
    """Return what commands left in the folder of temporary files."""
    return [path.name for path in (home / "tmp").iterdir()]
