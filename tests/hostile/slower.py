"""Repositories whose second commit takes 1,000 faults more, each in several ways, and the proof that no way passes.

There are three commits: a fast one, a slow one, and one that takes the slow one back. The gate compares the first two.
If a history reuses the count of the slow one, nothing behind it contradicts.

A case names its ``WAYS``, and those of them that Faultwatch does not stop yet: its ``HOLES``. These are executed and
judged only where ``FAULTWATCH_TEST_HOLES`` is set. Who mends one moves it to the ways.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.hostile.arena import Arena, Outcome, toml

GATE = ("gate", "workload.toml", "HEAD~2..HEAD~1", "--repo", ".", "--output", "REPORT")
START = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <sys/sendfile.h>
static const char *how;
#define WAY(name) if (strcmp(how, name) == 0)
static inline void touch(long pages) {
    char *p = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, pages * 4096, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++) *(volatile char *)(p + i * 4096) = 1;
}
static inline long number(int file) {
    char text[40] = {0};
    return file >= 0 && read(file, text, 39) > 0 ? atol(text) : 300;
}
static inline void put(const char *name, const void *bytes, size_t size) {
    int file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) abort();
    close(file);
}
static inline void nap(void) { usleep(50000); }
static inline struct stat state(const char *name) {
    struct stat answer = {0};
    if (stat(name, &answer)) memset(&answer, 0, sizeof answer);
    return answer;
}
static inline struct stat state_of(int file) {
    struct stat answer = {0};
    fstat(file, &answer);
    return answer;
}
"""
MAIN = r"""
int main(int count, char **words) {
    how = count > 1 ? words[1] : "";
    touch(pages());
    return 0;
}
"""
BUILD = """set -e
cc -O1 -pthread -o probe probe.c
if [ -e make.c ]; then cc -O1 -pthread -o make make.c; ./make $(cat variant); fi
rm -f make make.c variant
"""


def chosen(ways: Sequence[str], holes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the ways to try."""
    return (*ways, *(holes if "FAULTWATCH_TEST_HOLES" in os.environ else ()))


def prepare(
    arena: Arena,
    ways: Sequence[str],
    program: str,
    maker: str = "",
    *,
    files: Mapping[str, str] | None = None,
    slow: Mapping[str, str] | None = None,
    build: str = BUILD,
    more: str = "",
    slow_program: str | None = None,
    earlier: int = 0,
    keep: Sequence[str] = (),
) -> None:
    """Write the three commits; ``maker`` is the body of a function that gets the number of the variant, 0 or 1.

    Before the slow one come so many ``earlier`` commits that change only a document. The files that match ``keep`` are
    not put back before each execution, as all others are.
    """
    arena.write("build.sh", build)
    arena.write("probe.c", START + program + MAIN)
    if maker:
        arena.write(
            "make.c",
            START + f"int main(int count, char **words) {{ int slow = atoi(words[1]);\n{maker}\nreturn 0; }}\n",
        )
    arena.write("variant", "0\n")
    arena.write(
        "workload.toml",
        '[workload]\nname = "hostile"\ntimeout = 20\n[build]\ncommand = "sh build.sh"\n'
        f"[run]\ncommand = {toml('./probe {how}')}\nkeep = {json.dumps(list(keep))}\n"
        f"[matrix]\nhow = {json.dumps(list(ways))}\n{more}",
    )
    for name, text in (files or {}).items():
        arena.write(name, text)
    arena.commit("Take few faults")
    for number in range(earlier):
        arena.write("NOTES", f"{number}\n")
        arena.commit(f"Write note {number}")
    arena.write("variant", "1\n")
    if slow_program is not None:
        arena.write("probe.c", START + slow_program + MAIN)
    for name, text in (slow or {}).items():
        arena.write(name, text)
    arena.commit("Take 1,000 faults more")
    arena.git("checkout", "--quiet", "HEAD~1", "--", ".")
    for name in set(slow or {}) - set(files or {}):
        (arena.subject / name).unlink()
    arena.commit("Take it back")


def gate(arena: Arena) -> Outcome:
    """Compare the fast commit with the slow one."""
    return arena.run(*GATE)


def history(arena: Arena, commits: int) -> Outcome:
    """Measure the newest commits. Their counts are reused only after twelve that were measured."""
    # The first commit of a range is measured too.
    return arena.run("history", "--repo", ".", f"HEAD~{commits - 1}..HEAD", "--json")


def reused(outcome: Outcome, commit: str) -> set[str]:
    """Return the ways for which a history took the counts of a commit over from another one."""
    failed = json.loads(outcome.output)["failed"]
    assert not failed, (failed, outcome.error[-3000:])
    lines = [line for line in outcome.error.splitlines() if line.strip().startswith(commit[:10])]
    return {line.partition("how=")[2].partition("]")[0] for line in lines if " reused from " in line}


def verdicts(outcome: Outcome) -> dict[str, str]:
    """Return what the gate says of each way: ``regressed``, ``failed``, or the verdict of its comparison."""
    return {_way(case): _verdict(case) for case in json.loads(outcome.report)["cases"]}


def _way(case: Mapping[str, Any]) -> str:
    return str((case["head"] or case["base"])["case"]["parameters"]["how"])


def _verdict(case: Mapping[str, Any]) -> str:
    for side in ("base", "head"):
        if case[side] is not None and case[side]["outcome"] == "failed":
            # What does not build tries nothing.
            return "failed" if side == "head" and case[side]["failure"]["stage"] != "build" else f"{side} fails"
    comparison = case["comparison"]
    if comparison is None:
        return "not compared"
    return "regressed" if any(metric["over_budget"] for metric in comparison["metrics"]) else str(comparison["verdict"])


def stopped(outcome: Outcome, ways: Iterable[str]) -> None:
    """Assert that the gate is green for none of the ways."""
    found = verdicts(outcome)
    green = {way: found[way] for way in ways if found[way] not in {"regressed", "failed"}}
    assert not green, green


def drifts(outcome: Outcome) -> set[str]:
    """Return the ways for which a history reports a regression."""
    found = json.loads(outcome.output)["drifts"]
    worse = [drift["case"] for drift in found if drift["direction"] == "regression"]
    return {case.partition("how=")[2].partition("]")[0].partition(",")[0] for case in worse}


def reported(outcome: Outcome, ways: Iterable[str]) -> None:
    """Assert that a history reports the slow commit for each of the ways."""
    found = drifts(outcome)
    assert set(ways) <= found, sorted(set(ways) - found)
