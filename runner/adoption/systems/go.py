"""Go: programs, else the benchmarks of the package that has most of them, with a fixed number of rounds."""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import BuildProposal, RunProposal, shell
from runner.adoption.sources import Sources

ROUNDS = 10
_MOST = 8
_MAIN = re.compile(r"^package main\b.*^func main\(\)", re.MULTILINE | re.DOTALL)
_IGNORED = re.compile(r"^//go:build ignore|^// \+build ignore", re.MULTILINE)
_BENCHMARK = re.compile(r"^func Benchmark\w*\(", re.MULTILINE)


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build all programs of the module, and its benchmarks."""
    if not sources.has("go.mod"):
        return []
    # The module cache in the tree would be downloaded again for each revision.
    environment = {"GOMODCACHE": "{home}/go/pkg/mod"} if sources.has("go.sum") else {}
    target = "bin" if not sources.has_folder("bin") else "bin-faultwatch"
    files = [file for file in sources.with_suffix(".go") if "testdata/" not in file and "/vendor/" not in f"/{file}"]
    programs = _folders(sources, [file for file in files if not file.endswith("_test.go")], _MAIN)
    tests = _folders(sources, [file for file in files if file.endswith("_test.go")], _BENCHMARK)
    proposals = []
    if programs:
        packages = " ".join(f"./{folder}" for folder in sorted(programs, key=lambda path: path.count("/"))[:_MOST])
        proposals.append(
            BuildProposal("Go", f"go build -o {target}/ {packages}", ("go",), environment, downloads=bool(environment))
        )
    if tests:
        folder = max(tests, key=lambda path: tests[path])
        proposals.append(_benchmarks(folder, target, environment))
    return proposals


def _folders(sources: Sources, files: list[str], pattern: re.Pattern[str]) -> dict[str, int]:
    """Return how often a pattern occurs in the files of each folder."""
    counts: dict[str, int] = {}
    for file in files:
        text = sources.text(file)
        if (number := len(pattern.findall(text))) and not _IGNORED.search(text):
            folder = str(PurePosixPath(file).parent)
            counts[folder] = counts.get(folder, 0) + number
    return counts


def _benchmarks(folder: str, target: str, environment: dict[str, str]) -> BuildProposal:
    arguments = f"-test.run=NONE -test.bench=. -test.benchtime={ROUNDS}x"
    program = f"{target}/benchmarks"
    if folder == ".":
        run = f"{program} {arguments}"
    else:  # A test reads its data relative to the folder of its package.
        up = "/".join([".."] * (folder.count("/") + 1))
        run = shell(f"cd {folder}", f"exec {up}/{program} {arguments}")
    build = f"go test -c -o {program} ./{folder}"
    return BuildProposal("Go", build, ("go",), environment, (RunProposal(run),), downloads=bool(environment))
