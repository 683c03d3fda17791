"""Checks that the same bytes count the same, whatever the state of the page cache and whatever the commit.

``python -m bench.identical_bytes [--full] [copies] [commits]``, run as ``make bench-identical-bytes``: a few builds and
commits; all of them with ``make bench-identical-bytes-full``.

- ``copies``: six programs, each built repeatedly and copied in every way in which files get onto a disk and into
  memory. All copies with the same bytes must count the same, inside and outside of a sandbox.
- ``commits``: doc-only commits of real projects, applied to one state of their sources. A history of them must have no
  drift, also after the builds were written, read and evicted in other ways, and a bisect must find nothing.
  ``FAULTWATCH_PROJECTS`` lists the clones, separated by colons; the name of a clone's folder, or of its parent folder,
  identifies the project.
"""

import json
import mmap
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.report import finish_report, is_full, show_steps
from runner.contract.mapped_files import CacheState
from runner.contract.report import Case, Environment, Host, Report, Revision
from runner.dependencies.digests import combine_digests, hash_built_file
from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox, create_sandbox
from runner.measuring.measurement import measure_case
from runner.measuring.sampling import Sampling, compute_levels
from runner.measuring.trial import Bench
from runner.perf.perf_stat import count_faults
from runner.process_state.process_state import ProcessState
from runner.process_state.scheduling import raise_priority
from runner.workload import Workload

ROOT = Path(__file__).resolve().parents[1]
SOURCES = Path(__file__).with_name("identical_programs")
BUILDS, COMMITS = 20, 25
SEED = 20_251_121


@dataclass(frozen=True)
class Program:
    """How one of the six programs is built, in a folder with the sources, and executed."""

    build: str
    command: tuple[str, ...]
    needs: str
    environment: tuple[tuple[str, str], ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    cpus: frozenset[int] = frozenset()


_LIBRARY = "cc -O2 -shared -fPIC -o libwork.so work.c"
PROGRAMS = {
    "C": Program(f"{_LIBRARY} && cc -O2 -o program program.c -L. -lwork -Wl,-rpath,'$ORIGIN'", ("./program",), "cc"),
    "C++": Program(
        f"{_LIBRARY} && c++ -O2 -o program program.cpp -L. -lwork -Wl,-rpath,'$ORIGIN'", ("./program",), "c++"
    ),
    "Rust": Program("rustc -O -o program program.rs", ("./program",), "rustc"),
    # Go's runtime starts threads at any time, so one execution in four counts more: the level needs many samples.
    "Go": Program(
        "go build -trimpath -buildvcs=false -o program program.go",
        ("./program",),
        "go",
        (("GOMAXPROCS", "1"), ("GOGC", "off")),
        Sampling(min_samples=15, max_samples=45),
        frozenset({0}),
    ),
    "Python": Program(_LIBRARY, ("python3", "program.py"), "python3"),
    "Fortran": Program("gfortran -O2 -o program program.f90", ("./program",), "gfortran"),
}


@dataclass(frozen=True)
class Project:
    """How a real project is built and executed."""

    build: str
    command: str
    docs: tuple[str, ...]


PROJECTS = {
    "cJSON": Project(
        "sh -c 'cc -O2 -o demo cJSON.c test.c -lm'", "./demo", ("*.md", "LICENSE", "tests/inputs/*.txt", ".github/*")
    ),
    "lz4": Project(
        "make -C programs lz4 CFLAGS=-O1",
        "./programs/lz4 -b3 -i0 README.md",
        ("*.md", "doc/*", "NEWS", "*.html", "programs/*.1"),
    ),
    "hexyl": Project("cargo build --release", "./target/release/hexyl Cargo.lock", ("*.md", "doc/*", "*.png")),
    "snappy": Project(
        "sh -c 'c++ -O2 -DNDEBUG -I. -o demo snappy.cc snappy-sinksource.cc snappy-stubs-internal.cc demo.cc'",
        "./demo",
        ("*.md", "*.txt", "NEWS", "AUTHORS", "COPYING"),
    ),
    "zlib": Project(
        "sh -c './configure --static >/dev/null && make minigzip'",
        "./minigzip -c zlib.h",
        ("*.txt", "ChangeLog", "FAQ", "README*", "doc/*", "INDEX", "LICENSE", "*.3", "*.pdf"),
    ),
}


# ---- Ways to write files to a disk and into memory ----


def make_shell_way(script: str) -> Callable[[Path, Path], None]:
    """Return a way that runs a shell script, with the source as $1 and the copy as $2."""

    def way(source: Path, target: Path) -> None:
        subprocess.run(["sh", "-ec", script, "way", source, target], check=True, capture_output=True)

    return way


def write_by_git(source: Path, target: Path) -> None:
    """Check it out with git."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        git = ["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        subprocess.run([*git, "init", "-q"], check=True)
        shutil.copy(source, folder)
        subprocess.run([*git, "add", "-f", source.name], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)
        Path(folder, source.name).unlink()
        subprocess.run([*git, "checkout", "-q", "--", source.name], check=True)
        Path(folder, source.name).rename(target)


def write_by_pages(source: Path, target: Path) -> None:
    """Write it page by page, the last one first."""
    content = source.read_bytes()
    with target.open("wb") as file:
        for offset in reversed(range(0, len(content), 4096)):
            file.seek(offset)
            file.write(content[offset : offset + 4096])
            file.flush()
    target.chmod(0o755)


def write_by_mapping(source: Path, target: Path) -> None:
    """Write it through a mapping."""
    content = source.read_bytes()
    with target.open("w+b") as file:
        file.truncate(len(content))
        with mmap.mmap(file.fileno(), len(content)) as memory:
            memory[:] = content
    target.chmod(0o755)


def make_way_after_copy(action: Callable[[int, int], None]) -> Callable[[Path, Path], None]:
    """Return a way that copies, writes back to storage, and then changes the state of the page cache."""

    def way(source: Path, target: Path) -> None:
        shutil.copy(source, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
            action(file.fileno(), os.fstat(file.fileno()).st_size)

    return way


def evict_pages(descriptor: int, start: int = 0, length: int = 0) -> None:
    """Evict a part of a file, or all of it."""
    os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)


def read_pieces(step: int, start: int = 0) -> Callable[[int, int], None]:
    """Return an action that evicts a file and reads pieces of it, so that the kernel reads ahead."""

    def action(descriptor: int, size: int) -> None:
        evict_pages(descriptor)
        for offset in range(start, size, step):
            os.pread(descriptor, 4096, offset)

    return action


def read_backwards(descriptor: int, size: int) -> None:
    """Evict a file and read it from its end."""
    evict_pages(descriptor)
    for offset in reversed(range(0, size, 65_536)):
        os.pread(descriptor, 65_536, offset)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "cp": make_shell_way('cp "$1" "$2"'),
    "cp --reflink=never": make_shell_way('cp --reflink=never "$1" "$2"'),
    "cp --sparse=always": make_shell_way('cp --sparse=always "$1" "$2"'),
    "dd bs=512": make_shell_way('dd if="$1" of="$2" bs=512; chmod 755 "$2"'),
    "dd bs=7777": make_shell_way('dd if="$1" of="$2" bs=7777; chmod 755 "$2"'),
    "dd bs=100001 conv=fsync": make_shell_way('dd if="$1" of="$2" bs=100001 conv=fsync; chmod 755 "$2"'),
    "dd bs=3M oflag=sync": make_shell_way('dd if="$1" of="$2" bs=3M oflag=sync; chmod 755 "$2"'),
    "install": make_shell_way('install -m 755 "$1" "$2"'),
    "cat": make_shell_way('cat "$1" >"$2"; chmod 755 "$2"'),
    "tar": make_shell_way('tar -C "$(dirname "$1")" -cf - "$(basename "$1")" | tar -C "$(dirname "$2")" -xf -'),
    "git checkout": write_by_git,
    "page by page, backwards": write_by_pages,
    "through a mapping": write_by_mapping,
    "over another file": make_shell_way('head -c 300000 /dev/zero >"$2"; cp "$1" "$2"; chmod 755 "$2"'),
    "evicted": make_way_after_copy(lambda descriptor, _: evict_pages(descriptor)),
    "first half evicted": make_way_after_copy(lambda descriptor, size: evict_pages(descriptor, 0, size // 8192 * 4096)),
    "last half evicted": make_way_after_copy(lambda descriptor, size: evict_pages(descriptor, size // 8192 * 4096)),
    "read ahead": make_way_after_copy(read_pieces(1 << 30)),
    "read here and there": make_way_after_copy(read_pieces(50_000, 20_000)),
    "read backwards": make_way_after_copy(read_backwards),
}


# ---- Copies ----


def check_copies(misses: list[str], figures: dict[str, Any], quick: bool) -> None:
    """Build and copy six programs in every way, and count the faults of each with and without preparation."""
    sandboxes: dict[str, Sandbox | None] = {"": None}
    try:
        sandboxes[", sandboxed"] = create_sandbox()
    except FaultwatchError as error:
        figures["sandbox"] = str(error)
    print(f"{'program':22} {'trees':>5} {'bytes':>5}  {'unprepared':24} prepared")
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        Path(folder).chmod(0o755)
        for name, program in show_steps(PROGRAMS.items(), "programs"):
            if shutil.which(program.needs) is None:
                figures[name] = f"{program.needs} is not installed"
                misses.append(f"{name}: {program.needs} is not installed")
                continue
            trees = _write_trees(Path(folder, name), program, 3 if quick else BUILDS)
            for label, sandboxed in sandboxes.items():
                _count_all(f"{name}{label}", program, trees, sandboxed, misses, figures)


def _write_trees(folder: Path, program: Program, builds: int) -> list[tuple[str, Path]]:
    """Return the trees to measure, each with the way it was written. Like builds, they have names of one length."""
    trees = []
    for number in range(builds):
        tree = folder / f"{number:04}"
        shutil.copytree(SOURCES, tree)
        _run_script(program.build, tree)
        trees.append(("built", tree))
    for number, (way, copy) in enumerate(WAYS.items(), builds):
        tree = folder / f"{number:04}"
        tree.mkdir()
        for source in trees[0][1].iterdir():
            if source.is_file():
                copy(source, tree / source.name)
        trees.append((way, tree))
    return trees


def _run_script(script: str, folder: Path) -> None:
    completed = subprocess.run(["sh", "-ec", script], cwd=folder, check=False, capture_output=True, text=True)
    if completed.returncode:
        sys.exit(f"`{script}` failed in {folder}: {completed.stderr.strip()}")


def _count_all(
    label: str,
    program: Program,
    trees: Sequence[tuple[str, Path]],
    sandboxed: Sandbox | None,
    misses: list[str],
    figures: dict[str, Any],
) -> None:
    unprepared: Counter[int] = Counter()
    prepared: Counter[tuple[str, int]] = Counter()
    outliers = 0
    ways: dict[tuple[str, int], str] = {}
    for way, tree in trees:
        if sandboxed is None:
            unprepared[_count_unprepared(program, tree)] += 1
        report = _measure_program(program, tree, sandboxed)
        if report.files is None or not report.samples:
            misses.append(f"{label}, {way}: {report.failure or report.remarks}")
            continue
        level = compute_levels(report.samples).get("minor-faults", -1)
        content = combine_digests((file.name, hash_built_file(file, tree)) for file in tree.iterdir() if file.is_file())
        key = (f"{content} {report.files.system_bytes}", int(level))
        prepared[key] += 1
        ways.setdefault(key, way)
        outliers += sum(value != level for value in report.list_values("minor-faults"))
        if any(file.cache is CacheState.UNPREPARED for file in report.files.mapped):
            misses.append(f"{label}, {way}: {'; '.join(report.remarks)}")
    different = len({files for files, _ in prepared})
    levels_found = dict(sorted(Counter(level for _, level in prepared.elements()).items()))
    print(
        f"{label:22} {len(trees):>5} {different:>5}  {_format_counts(unprepared):24} {_format_counts(levels_found)}",
        flush=True,
    )
    figures[label] = {
        "trees": len(trees),
        "different_bytes": different,
        "unprepared": dict(sorted(unprepared.items())),
        "prepared": levels_found,
        "outlying_samples": outliers,
    }
    for files in {files for files, _ in prepared}:
        counts = [level for other, level in prepared if other == files]
        if len(counts) > 1:
            misses.append(f"{label}: the same bytes count {counts}: {[ways[files, level] for level in counts]}")


def _format_counts(counts: dict[int, int]) -> str:
    return " ".join(f"{level}" if number == 1 else f"{level}×{number}" for level, number in sorted(counts.items()))[:60]


def _count_unprepared(program: Program, tree: Path) -> int:
    """Return the most frequent count without preparation. The first execution warms the page cache and is left out."""
    state = ProcessState(variables=dict(program.environment), huge_pages="never", cpus=program.cpus)
    with raise_priority():
        counts = [
            count_faults(program.command, directory=tree, state=state, timeout=60).sample.readings["minor-faults"].value
            or 0
            for _ in range(1 + program.sampling.min_samples)
        ]
    return int(Counter(counts[1:]).most_common(1)[0][0])


BENCHES: dict[tuple[bool, frozenset[int]], Bench] = {}


def _measure_program(program: Program, tree: Path, sandboxed: Sandbox | None) -> Report:
    workload = Workload.model_validate(
        {
            "workload": {"name": "same"},
            "run": {"command": list(program.command), "environment": dict(program.environment), "huge_pages": "never"},
        }
    )
    bench = BENCHES.setdefault(
        (sandboxed is not None, program.cpus),
        Bench(
            Host(name="bench"),
            lambda state: Environment(settings=state.read_settings()),
            cpus=program.cpus,
            sandbox=sandboxed,
        ),
    )
    case = Case(workload="same", definition="0" * 16, parameters={"program": program.command[-1], "by": program.needs})
    revision = Revision(commit="0" * 40, committed_at=datetime(2025, 1, 1, tzinfo=UTC))
    with raise_priority():
        return measure_case(
            workload, case, tree, bench=bench, subject="same", revision=revision, sampling=program.sampling
        )


# ---- Commits ----


def check_commits(misses: list[str], figures: dict[str, Any], quick: bool) -> None:
    """Measure histories of doc-only commits, rewrite the builds, measure again, and search for culprits."""
    clones = [Path(text) for text in os.environ.get("FAULTWATCH_PROJECTS", "").split(":") if text]
    if not clones:
        print("FAULTWATCH_PROJECTS lists no clones, so no commits were measured")
    print(
        f"{'project':10} {'commits':>7} {'bytes':>5} {'drifts':>6} {'again':>5} {'proven':>6} {'seconds':>7}  counted"
    )
    for clone in show_steps(clones, "projects"):
        name = next(
            (project for project in PROJECTS for part in (clone.name, clone.parent.name) if project in part), None
        )
        if name is None:
            sys.exit(f"{clone}: unknown project; the known ones are {', '.join(PROJECTS)}")
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
            result = _measure_history(PROJECTS[name], clone, Path(folder), name, 5 if quick else COMMITS)
        seconds = round(time.monotonic() - started)
        figures[name] = {**result, "seconds": seconds}
        columns = [result[key] for key in ("commits", "different_bytes", "drifts", "drifts_again", "proven")]
        print(
            f"{name:10} {'{:>7} {:>5} {:>6} {:>5} {:>6}'.format(*columns)} {seconds:>7}  {result['counted']}",
            flush=True,
        )
        misses += [f"{name}: {result[key]} {key}" for key in ("drifts", "drifts_again", "proven") if result[key]]
        if len(result["counted"]) > 1:
            misses.append(f"{name}: doc-only commits count {result['counted']}")


def _measure_history(project: Project, clone: Path, folder: Path, name: str, number: int) -> dict[str, Any]:
    repository, home = folder / name, folder / "home"
    base = apply_doc_commits(clone, repository, project, number)
    workload = folder / "workload.toml"
    # Rust's profile: quicker builds, and smaller ones.
    profile = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    homes = {"CARGO_HOME": "~/.cargo", "RUSTUP_HOME": "~/.rustup"}
    tools = {
        "PATH": os.environ["PATH"],
        **profile,
        **{variable: str(Path(path).expanduser()) for variable, path in homes.items()},
    }
    variables = "\n".join(f"{variable} = {json.dumps(value)}" for variable, value in tools.items())
    workload.write_text(
        f'[workload]\nname = "{name}"\n[build]\ncommand = {json.dumps(project.build)}\n'
        "timeout = 1800\nincomplete = true\n"
        f"[build.environment]\n{variables}\n"
        f'[run]\ncommand = {json.dumps(project.command)}\nhuge_pages = "never"\n'
    )
    options = (str(workload), f"{base}..HEAD", "--repo", str(repository))
    first = _run_faultwatch(home, "history", *options, "--measure-all", "--json")
    generator = random.Random(SEED)
    _rewrite_builds(home / "builds", generator)
    for file in home.glob("faultwatch.db*"):
        file.unlink()
    again = _run_faultwatch(home, "history", *options, "--measure-all", "--json")
    _rewrite_builds(home / "builds", generator)
    searched = _run_faultwatch(home, "bisect", *options, "--metric", "minor-faults", "--json", exit_codes=(0, 1, 2))
    reports = _read_reports(home)
    return {
        "commits": int(_run_git(repository, "rev-list", "--count", f"{base}..HEAD")),
        "different_bytes": len(
            {(report.files.own_bytes, report.files.system_bytes) for report in reports if report.files}
        ),
        "drifts": len(first.get("drifts", [])),
        "drifts_again": len(again.get("drifts", [])),
        "proven": len(searched.get("answer", {}).get("culprits", [])),
        "counted": dict(
            sorted(Counter(str(compute_levels(report.samples).get("minor-faults")) for report in reports).items())
        ),
    }


def apply_doc_commits(clone: Path, repository: Path, project: Project, number: int) -> str:
    """Create a history of doc-only commits on one state of the sources; return the commit before the first.

    Their content is that of the last commits of the project that changed only documentation.
    """
    subprocess.run(["git", "clone", "-q", clone, repository], check=True)
    patterns = [f":(glob)**/{pattern}" for pattern in project.docs]
    log = _run_git(repository, "log", "--no-merges", "--reverse", "--format=%x00%H", "--name-only").split("\0")[1:]
    docs = set(_run_git(repository, "log", "--no-merges", "--format=", "--name-only", "--", *patterns).split("\n"))
    changed = [(lines[0], [line for line in lines[1:] if line]) for lines in (entry.split("\n") for entry in log)]
    doc_commits = [commit for commit, files in changed if files and all(file in docs for file in files)][-number:]
    git = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    (repository / "demo.cc").exists() or _add_program(repository)
    _run_git(repository, "add", "-A")
    _run_git(repository, *git, "commit", "-q", "--allow-empty", "-m", "The sources as they are")
    base = _run_git(repository, "rev-parse", "HEAD")
    for commit in doc_commits:
        present = _run_git(repository, "ls-tree", "-r", "--name-only", commit, "--", *dict(changed)[commit])
        if present:
            _run_git(repository, "checkout", "-q", commit, "--", *present.split("\n"))
        title = _run_git(repository, "log", "-1", "--format=%s", commit)
        _run_git(repository, *git, "commit", "-q", "--allow-empty", "-m", title)
    return base


def _add_program(repository: Path) -> None:
    """Add a program to snappy, which is a library."""
    if (repository / "snappy.h").exists():
        (repository / "demo.cc").write_text(
            '#include "snappy.h"\n#include <cstdio>\nint main() {\n  std::string in, out, back;\n'
            "  for (int i = 0; i < 100000; i++) in += std::to_string(i * 7919 % 1000);\n"
            "  snappy::Compress(in.data(), in.size(), &out);\n  snappy::Uncompress(out.data(), out.size(), &back);\n"
            '  std::printf("%zu %d\\n", out.size(), in == back);\n}\n'
        )
        (repository / "snappy-stubs-public.h").write_text(
            "#ifndef STUBS\n#define STUBS\n#include <cstddef>\n#include <cstdint>\n#include <string>\n"
            "#include <sys/uio.h>\nnamespace snappy {}\n#endif\n"
        )


def _rewrite_builds(builds: Path, generator: random.Random) -> None:
    """Write every built program again, each in a random way."""
    for file in sorted(builds.rglob("*")):
        if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK):
            state, copy = file.stat(), file.with_name(f"{file.name}.copy")
            generator.choice(list(WAYS.values()))(file, copy)
            if copy.exists():
                copy.chmod(state.st_mode & 0o777)
                os.utime(copy, ns=(state.st_atime_ns, state.st_mtime_ns))
                copy.rename(file)


def _read_reports(home: Path) -> list[Report]:
    with closing(sqlite3.connect(home / "faultwatch.db")) as database:
        rows = database.execute("SELECT document FROM report").fetchall()
    return [Report.model_validate_json(zlib.decompress(row[0])) for row in rows]


def _run_faultwatch(home: Path, *arguments: str, exit_codes: Sequence[int] = (0,)) -> dict[str, Any]:
    completed = subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=ROOT,
        env=os.environ | {"FAULTWATCH_HOME": str(home)},
        check=False,
        capture_output=True,
        text=True,
    )
    if completed.returncode not in exit_codes:
        sys.exit(f"faultwatch {arguments[0]} failed: {completed.stderr.strip()[-2000:]}")
    document: dict[str, Any] = json.loads(completed.stdout) if completed.stdout.strip().startswith("{") else {}
    return document


def _run_git(repository: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", repository, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


PARTS = {"copies": check_copies, "commits": check_commits}


def main(arguments: Sequence[str]) -> None:
    """Run the parts that the arguments name, or all."""
    misses: list[str] = []
    figures: dict[str, Any] = {"load of the host": [round(load, 1) for load in os.getloadavg()]}
    for name in show_steps([argument for argument in arguments if argument in PARTS] or PARTS, "parts"):
        print(f"{name}: {PARTS[name].__doc__}", flush=True)
        PARTS[name](misses, figures, not is_full())
    finish_report("identical-bytes", misses, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
