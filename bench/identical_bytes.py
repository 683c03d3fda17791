"""The same bytes count the same: however they came into the page cache, and whatever a commit's message says.

``python -m bench.identical_bytes [--quick] [copies] [commits]``, run as ``make bench-identical-bytes``.

- ``copies``: six programs, each built again and again and copied in every way in which files get onto a disk and into
  memory. All with the same bytes must count the same, in a sandbox and out of it.
- ``commits``: doc-only commits of real projects, laid onto one state of their sources. A history of them has no drift,
  nor after the builds were written, read and dropped from memory anew, and a bisect finds nothing.
  ``FAULTWATCH_PROJECTS`` names the clones, separated by colons; a clone is known by the name of its folder, or of the
  folder around it.
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

from bench.report import finish
from runner.contract.report import Case, Environment, Host, Report, Revision
from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox, sandbox
from runner.measuring.comparison import undisturbed
from runner.measuring.measurement import measure
from runner.measuring.sampling import Sampling, levels
from runner.measuring.trial import Bench
from runner.perf.session import count
from runner.process_state.process_state import ProcessState
from runner.workload import Workload

ROOT = Path(__file__).resolve().parents[1]
SOURCES = Path(__file__).with_name("identical_programs")
BUILDS, COMMITS = 20, 25
SEED = 20_251_121


@dataclass(frozen=True)
class Program:
    """How one of the six is built in a folder that holds the sources, and run."""

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
    # Go's runtime begins threads when it likes, so one execution in four counts more: by most of many it has a level.
    "Go": Program(
        "go build -trimpath -buildvcs=false -o program program.go",
        ("./program",),
        "go",
        (("GOMAXPROCS", "1"), ("GOGC", "off")),
        Sampling(least=15, most=45),
        frozenset({0}),
    ),
    "Python": Program(_LIBRARY, ("python3", "program.py"), "python3"),
    "Fortran": Program("gfortran -O2 -o program program.f90", ("./program",), "gfortran"),
}


@dataclass(frozen=True)
class Project:
    """How a real project is built and run."""

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


# ---- Ways in which files get onto a disk and into memory ----


def shell(script: str) -> Callable[[Path, Path], None]:
    """Return a way that a shell carries out, with the file to copy as $1 and the copy as $2."""

    def way(source: Path, target: Path) -> None:
        subprocess.run(["sh", "-ec", script, "way", source, target], check=True, capture_output=True)

    return way


def by_git(source: Path, target: Path) -> None:
    """Have git write it: through its own zlib, as a checkout does."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        git = ["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        subprocess.run([*git, "init", "-q"], check=True)
        shutil.copy(source, folder)
        subprocess.run([*git, "add", "-f", source.name], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)
        Path(folder, source.name).unlink()
        subprocess.run([*git, "checkout", "-q", "--", source.name], check=True)
        Path(folder, source.name).rename(target)


def by_pages(source: Path, target: Path) -> None:
    """Write it page by page, the last one first."""
    content = source.read_bytes()
    with target.open("wb") as file:
        for place in reversed(range(0, len(content), 4096)):
            file.seek(place)
            file.write(content[place : place + 4096])
            file.flush()
    target.chmod(0o755)


def by_mapping(source: Path, target: Path) -> None:
    """Write it through a mapping."""
    content = source.read_bytes()
    with target.open("w+b") as file:
        file.truncate(len(content))
        with mmap.mmap(file.fileno(), len(content)) as memory:
            memory[:] = content
    target.chmod(0o755)


def advised(advice: Callable[[int, int], None]) -> Callable[[Path, Path], None]:
    """Return a way that copies, writes to storage, and then does something to what is in memory."""

    def way(source: Path, target: Path) -> None:
        shutil.copy(source, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
            advice(file.fileno(), os.fstat(file.fileno()).st_size)

    return way


def drop(descriptor: int, start: int = 0, length: int = 0) -> None:
    """Drop a part of a file from memory, or all of it."""
    os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)


def read_again(step: int, start: int = 0) -> Callable[[int, int], None]:
    """Return what drops a file and reads pieces of it: the kernel reads ahead."""

    def advice(descriptor: int, size: int) -> None:
        drop(descriptor)
        for place in range(start, size, step):
            os.pread(descriptor, 4096, place)

    return advice


def read_backwards(descriptor: int, size: int) -> None:
    """Drop a file and read it from its end."""
    drop(descriptor)
    for place in reversed(range(0, size, 65_536)):
        os.pread(descriptor, 65_536, place)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "cp": shell('cp "$1" "$2"'),
    "cp --reflink=never": shell('cp --reflink=never "$1" "$2"'),
    "cp --sparse=always": shell('cp --sparse=always "$1" "$2"'),
    "dd bs=512": shell('dd if="$1" of="$2" bs=512; chmod 755 "$2"'),
    "dd bs=7777": shell('dd if="$1" of="$2" bs=7777; chmod 755 "$2"'),
    "dd bs=100001 conv=fsync": shell('dd if="$1" of="$2" bs=100001 conv=fsync; chmod 755 "$2"'),
    "dd bs=3M oflag=sync": shell('dd if="$1" of="$2" bs=3M oflag=sync; chmod 755 "$2"'),
    "install": shell('install -m 755 "$1" "$2"'),
    "cat": shell('cat "$1" >"$2"; chmod 755 "$2"'),
    "tar": shell('tar -C "$(dirname "$1")" -cf - "$(basename "$1")" | tar -C "$(dirname "$2")" -xf -'),
    "git checkout": by_git,
    "page by page, backwards": by_pages,
    "through a mapping": by_mapping,
    "over another file": shell('head -c 300000 /dev/zero >"$2"; cp "$1" "$2"; chmod 755 "$2"'),
    "evicted": advised(lambda descriptor, _: drop(descriptor)),
    "first half evicted": advised(lambda descriptor, size: drop(descriptor, 0, size // 8192 * 4096)),
    "last half evicted": advised(lambda descriptor, size: drop(descriptor, size // 8192 * 4096)),
    "read ahead": advised(read_again(1 << 30)),
    "read here and there": advised(read_again(50_000, 20_000)),
    "read backwards": advised(read_backwards),
}


# ---- Copies ----


def copies(misses: list[str], figures: dict[str, Any], quick: bool) -> None:
    """Build and copy six programs in every way, and count each as it is found and as Faultwatch does."""
    boxes: dict[str, Sandbox | None] = {"": None}
    try:
        boxes[", sandboxed"] = sandbox()
    except FaultwatchError as error:
        figures["sandbox"] = str(error)
    print(f"{'program':22} {'trees':>5} {'bytes':>5}  {'as found':24} counted")
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        Path(folder).chmod(0o755)
        for name, program in PROGRAMS.items():
            if shutil.which(program.needs) is None:
                figures[name] = f"{program.needs} is not installed"
                misses.append(f"{name}: {program.needs} is not installed")
                continue
            trees = _trees(Path(folder, name), program, 3 if quick else BUILDS)
            for label, box in boxes.items():
                _count_all(f"{name}{label}", program, trees, box, misses, figures)


def _trees(folder: Path, program: Program, builds: int) -> list[tuple[str, Path]]:
    """Return the trees to be measured, each with how it was made; names of one length, as those of builds have."""
    made = []
    for number in range(builds):
        tree = folder / f"{number:04}"
        shutil.copytree(SOURCES, tree)
        _run(program.build, tree)
        made.append(("built anew", tree))
    for number, (way, put) in enumerate(WAYS.items(), builds):
        tree = folder / f"{number:04}"
        tree.mkdir()
        for source in made[0][1].iterdir():
            if source.is_file():
                put(source, tree / source.name)
        made.append((way, tree))
    return made


def _run(script: str, folder: Path) -> None:
    done = subprocess.run(["sh", "-ec", script], cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"`{script}` failed in {folder}: {done.stderr.strip()}")


def _count_all(
    label: str,
    program: Program,
    trees: Sequence[tuple[str, Path]],
    box: Sandbox | None,
    misses: list[str],
    figures: dict[str, Any],
) -> None:
    raw: Counter[int] = Counter()
    exact: Counter[tuple[str, int]] = Counter()
    strays = 0
    ways: dict[tuple[str, int], str] = {}
    for way, tree in trees:
        if box is None:
            raw[_as_found(program, tree)] += 1
        report = _measured(program, tree, box)
        if report.files is None or not report.samples:
            misses.append(f"{label}, {way}: {report.failure or report.remarks}")
            continue
        level = levels(report.samples).get("minor-faults", -1)
        key = (f"{report.files.own_bytes} {report.files.system_bytes}", int(level))
        exact[key] += 1
        ways.setdefault(key, way)
        strays += sum(value != level for value in report.values("minor-faults"))
        if report.files.doubt.most:
            misses.append(f"{label}, {way}: {'; '.join(report.remarks)}")
    different = len({files for files, _ in exact})
    found = dict(sorted(Counter(level for _, level in exact.elements()).items()))
    print(f"{label:22} {len(trees):>5} {different:>5}  {_short(raw):24} {_short(found)}", flush=True)
    figures[label] = {
        "trees": len(trees),
        "different_bytes": different,
        "as_found": dict(sorted(raw.items())),
        "counted": found,
        "stray_samples": strays,
    }
    for files in {files for files, _ in exact}:
        counts = [level for other, level in exact if other == files]
        if len(counts) > 1:
            misses.append(f"{label}: the same bytes count {counts}: {[ways[files, level] for level in counts]}")


def _short(counts: dict[int, int]) -> str:
    return " ".join(f"{level}" if number == 1 else f"{level}×{number}" for level, number in sorted(counts.items()))[:60]


def _as_found(program: Program, tree: Path) -> int:
    """Count as the files are found: what most executions count after the first one, which warms the page cache."""
    state = ProcessState(variables=dict(program.environment), huge_pages="never", cpus=program.cpus)
    with undisturbed():
        found = [
            count(program.command, directory=tree, state=state, timeout=60).sample.readings["minor-faults"].value or 0
            for _ in range(1 + program.sampling.least)
        ]
    return int(Counter(found[1:]).most_common(1)[0][0])


BENCHES: dict[tuple[bool, frozenset[int]], Bench] = {}


def _measured(program: Program, tree: Path, box: Sandbox | None) -> Report:
    workload = Workload.model_validate(
        {
            "workload": {"name": "same"},
            "run": {"command": list(program.command), "environment": dict(program.environment), "huge_pages": "never"},
        }
    )
    bench = BENCHES.setdefault(
        (box is not None, program.cpus),
        Bench(Host(name="bench"), lambda state: Environment(knobs=state.knobs()), cpus=program.cpus, sandbox=box),
    )
    case = Case(workload="same", definition="0" * 16, parameters={"program": program.command[-1], "by": program.needs})
    revision = Revision(commit="0" * 40, committed_at=datetime(2025, 1, 1, tzinfo=UTC))
    with undisturbed():
        return measure(workload, case, tree, bench=bench, subject="same", revision=revision, sampling=program.sampling)


# ---- Commits ----


def commits(misses: list[str], figures: dict[str, Any], quick: bool) -> None:
    """Measure histories of doc-only commits, disturb their builds, measure them again, and search them for culprits."""
    clones = [Path(text) for text in os.environ.get("FAULTWATCH_PROJECTS", "").split(":") if text]
    if not clones:
        print("FAULTWATCH_PROJECTS names no clones: no commits were measured")
    print(
        f"{'project':10} {'commits':>7} {'bytes':>5} {'drifts':>6} {'again':>5} {'proven':>6} {'seconds':>7}  counted"
    )
    for clone in clones:
        name = next((one for one in PROJECTS for part in (clone.name, clone.parent.name) if one in part), None)
        if name is None:
            sys.exit(f"{clone}: how to build it is not known; known are {', '.join(PROJECTS)}")
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
            found = _history(PROJECTS[name], clone, Path(folder), name, 5 if quick else COMMITS)
        seconds = round(time.monotonic() - started)
        figures[name] = {**found, "seconds": seconds}
        shown = [found[key] for key in ("commits", "different_bytes", "drifts", "drifts_again", "proven")]
        print(
            f"{name:10} {'{:>7} {:>5} {:>6} {:>5} {:>6}'.format(*shown)} {seconds:>7}  {found['counted']}", flush=True
        )
        misses += [f"{name}: {found[key]} {key}" for key in ("drifts", "drifts_again", "proven") if found[key]]
        if len(found["counted"]) > 1:
            misses.append(f"{name}: doc-only commits count {found['counted']}")


def _history(project: Project, clone: Path, folder: Path, name: str, number: int) -> dict[str, Any]:
    repository, home = folder / name, folder / "home"
    base = lay_docs(clone, repository, project, number)
    workload = folder / "workload.toml"
    # Of Rust's: quick to build, and not as large as it would be.
    profile = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    homes = {"CARGO_HOME": "~/.cargo", "RUSTUP_HOME": "~/.rustup"}
    tools = {
        "PATH": os.environ["PATH"],
        **profile,
        **{name: str(Path(place).expanduser()) for name, place in homes.items()},
    }
    variables = "\n".join(f"{name} = {json.dumps(value)}" for name, value in tools.items())
    workload.write_text(
        f'[workload]\nname = "{name}"\n[build]\ncommand = {json.dumps(project.build)}\ntimeout = 1800\n'
        f"[build.environment]\n{variables}\n"
        f'[run]\ncommand = {json.dumps(project.command)}\nhuge_pages = "never"\n'
    )
    about = ("--repo", str(repository), "--workload", str(workload))
    first = _faultwatch(home, "history", *about, "--range", f"{base}..HEAD", "--json")
    generator = random.Random(SEED)
    _disturb(home / "builds", generator)
    for file in home.glob("faultwatch.db*"):
        file.unlink()
    again = _faultwatch(home, "history", *about, "--range", f"{base}..HEAD", "--json")
    _disturb(home / "builds", generator)
    searched = _faultwatch(
        home, "bisect", f"{base}~0..HEAD", *about, "--metric", "minor-faults", "--json", ends=(0, 1, 2)
    )
    reports = _reports(home)
    return {
        "commits": int(_git(repository, "rev-list", "--count", f"{base}..HEAD")),
        "different_bytes": len({(one.files.own_bytes, one.files.system_bytes) for one in reports if one.files}),
        "drifts": len(first.get("drifts", [])),
        "drifts_again": len(again.get("drifts", [])),
        "proven": len(searched.get("answer", {}).get("culprits", [])),
        "counted": dict(sorted(Counter(str(levels(one.samples).get("minor-faults")) for one in reports).items())),
    }


def lay_docs(clone: Path, repository: Path, project: Project, number: int) -> str:
    """Make a history of doc-only commits on one state of the sources; return the commit before the first of them.

    The texts are those of the project's own last commits that changed nothing else.
    """
    subprocess.run(["git", "clone", "-q", clone, repository], check=True)
    ours = [f":(glob)**/{pattern}" for pattern in project.docs]
    log = _git(repository, "log", "--no-merges", "--reverse", "--format=%x00%H", "--name-only").split("\0")[1:]
    docs = set(_git(repository, "log", "--no-merges", "--format=", "--name-only", "--", *ours).split("\n"))
    changed = [(lines[0], [line for line in lines[1:] if line]) for lines in (entry.split("\n") for entry in log)]
    only = [commit for commit, files in changed if files and all(file in docs for file in files)][-number:]
    git = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    (repository / "demo.cc").exists() or _demo(repository)
    _git(repository, "add", "-A")
    _git(repository, *git, "commit", "-q", "--allow-empty", "-m", "The sources as they are")
    base = _git(repository, "rev-parse", "HEAD")
    for commit in only:
        there = _git(repository, "ls-tree", "-r", "--name-only", commit, "--", *dict(changed)[commit])
        if there:
            _git(repository, "checkout", "-q", commit, "--", *there.split("\n"))
        title = _git(repository, "log", "-1", "--format=%s", commit)
        _git(repository, *git, "commit", "-q", "--allow-empty", "-m", title)
    return base


def _demo(repository: Path) -> None:
    """Give snappy, a library, a program."""
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


def _disturb(builds: Path, generator: random.Random) -> None:
    """Write, read and drop what was built anew, each program in another way."""
    for file in sorted(builds.rglob("*")):
        if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK):
            state, copy = file.stat(), file.with_name(f"{file.name}.copy")
            generator.choice(list(WAYS.values()))(file, copy)
            if copy.exists():
                copy.chmod(state.st_mode & 0o777)
                os.utime(copy, ns=(state.st_atime_ns, state.st_mtime_ns))
                copy.rename(file)


def _reports(home: Path) -> list[Report]:
    with closing(sqlite3.connect(home / "faultwatch.db")) as database:
        rows = database.execute("SELECT document FROM report").fetchall()
    return [Report.model_validate_json(zlib.decompress(row[0])) for row in rows]


def _faultwatch(home: Path, *words: str, ends: Sequence[int] = (0,)) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words],
        cwd=ROOT,
        env=os.environ | {"FAULTWATCH_HOME": str(home)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode not in ends:
        sys.exit(f"faultwatch {words[0]} failed: {done.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
    return found


def _git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, text=True).stdout.strip()


PARTS = {"copies": copies, "commits": commits}


def main(arguments: Sequence[str]) -> None:
    """Check the parts named, or all."""
    misses: list[str] = []
    figures: dict[str, Any] = {"load of the host": [round(one, 1) for one in os.getloadavg()]}
    for name in [one for one in arguments if one in PARTS] or list(PARTS):
        print(f"{name}: {PARTS[name].__doc__}", flush=True)
        PARTS[name](misses, figures, "--quick" in arguments)
    finish("identical-bytes", misses, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
