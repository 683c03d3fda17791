"""A program whose faults depend on the page-cache state of its files, and ways of writing and reading the files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from runner.contract.report import Case, Environment, Host, Report, Revision
from runner.execution.sandbox import Sandbox
from runner.measuring.measurement import measure_case
from runner.measuring.trial import Bench
from runner.workload import Workload

_LIBRARY = """
static const long constants[1 << 18] = {1, 2, 3};

long work(void)
{
    long sum = 0;
    volatile const long *seen = constants;
    for (long i = 0; i < 60; i++)
        sum += seen[i * 104729 % (1 << 18)];
    return sum;
}
"""
_PROGRAM = """
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int count, char **arguments)
{
    void *library = dlopen("./libwork.so", RTLD_NOW);
    long (*work)(void) = library ? (long (*)(void))dlsym(library, "work") : 0;
    char *data = mmap(0, 8192, PROT_READ, MAP_PRIVATE, open("data", O_RDONLY), 0);
    if (!work || data == MAP_FAILED)
        return 1;
    FILE *text = count > 1 ? fopen(arguments[1], "r") : 0;
    return (text && fgetc(text) == 'x') || work() + data[0] == 0;
}
"""
REVISION = Revision(commit="a" * 40, committed_at=datetime(2025, 1, 1, tzinfo=UTC))
CASE = Case(workload="program", definition="0" * 16)


def build(folder: Path) -> Path:
    """Build a program that loads a library and maps a file while it runs."""
    folder.mkdir()
    (folder / "work.c").write_text(_LIBRARY)
    (folder / "program.c").write_text(_PROGRAM)
    (folder / "data").write_bytes(b"data" * 4096)
    (folder / "table").write_text("table\n")
    for arguments in (["-shared", "-fPIC", "-o", "libwork.so", "work.c"], ["-o", "program", "program.c", "-ldl"]):
        subprocess.run(["cc", "-O1", *arguments], cwd=folder, check=True)
    return folder


def copy_build(source: Path, target: Path, way: Callable[[Path, Path], None]) -> Path:
    """Copy a build, each file in one way, but with its time, which a program can ask for."""
    target.mkdir()
    for file in source.iterdir():
        way(file, target / file.name)
        (target / file.name).chmod(0o755)
        os.utime(target / file.name, (0, file.stat().st_mtime))
    return target


def by_cp(source: Path, target: Path) -> None:
    """Write in large pieces, which gives large folios on file systems that have them."""
    subprocess.run(["cp", "--reflink=never", source, target], check=True)


def in_odd_blocks(source: Path, target: Path) -> None:
    """Write in blocks that begin and end within pages."""
    subprocess.run(["dd", f"if={source}", f"of={target}", "bs=7777", "status=none"], check=True)


def read_ahead(source: Path, target: Path) -> None:
    """Write, evict, and read some pieces, so that the kernel reads ahead and marks pages."""
    by_cp(source, target)
    with target.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for offset in range(20_000, target.stat().st_size, 300_000):
            os.pread(file.fileno(), 4096, offset)


def half_evicted(source: Path, target: Path) -> None:
    """Write, and evict the first half."""
    by_cp(source, target)
    with target.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, target.stat().st_size // 8192 * 4096, os.POSIX_FADV_DONTNEED)


WAYS = (by_cp, in_odd_blocks, read_ahead, half_evicted)


def measure_build(
    tree: Path, *arguments: str, sandbox: Sandbox | None = None, processes: int = 1, **run: object
) -> Report:
    """Measure the program of a build."""
    command = {"command": ["./program", *arguments], "huge_pages": "never", "processes": processes, **run}
    workload = Workload.model_validate({"workload": {"name": "program"}, "run": command})
    bench = Bench(Host(name="host"), lambda state: Environment(settings=state.read_settings()), sandbox=sandbox)
    return measure_case(workload, CASE, tree, bench=bench, subject="subject", revision=REVISION)
