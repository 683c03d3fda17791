"""Go: the programs of each module, and the benchmarks of one package in it, with a fixed number of rounds, or tests."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal, RunProposal, build_command_in_folder, build_shell_command
from runner.adoption.sources import Sources, is_auxiliary
from runner.subject.package_managers import GO, GO_CACHE_VARIABLES

BENCHMARK_ROUNDS = 10
"""How many rounds each benchmark makes."""
_MAX_PROGRAMS = 8
"""The largest number of programs of a module that are built; those nearest to its top are chosen."""
_DEVELOPMENT_FOLDERS = frozenset(
    {"internal", "hack", "script", "scripts", "ci", "example", "gen", "generate", "generator"}
)
"""Folders with programs that are not for users, in addition to the auxiliary ones."""
_MAIN = re.compile(r"^package main\b.*^func main\(\)", re.MULTILINE | re.DOTALL)
_IGNORED = re.compile(r"^//go:build ignore|^// \+build ignore", re.MULTILINE)
_CONSTRAINT = re.compile(r"^//go:build ([\w. &,()]+)$", re.MULTILINE)
"""A build constraint without a negation or an alternative."""
_OTHER_SYSTEMS = frozenset({"js", "wasm", "wasip1", "windows", "darwin", "android", "ios", "plan9", "tinygo"})
_BENCHMARK = re.compile(r"^func Benchmark(\w*)\(", re.MULTILINE)
_TEST = re.compile(r"^func Test(?!Main\b)\w*\(", re.MULTILINE)
_TEST_OPTIONS = "-test.parallel=1"
"""The option of a test program that executes tests one by one."""
_SUB_BENCHMARK = re.compile(r"\bb\.Run\(\s*\"([^\"]+)\"")
_MODULE_IMPORT = re.compile(r"^(?:import\s+|\s+)(?:[\w.]+\s+)?\"([\w-]+\.[\w.-]+/[^\"]+)\"", re.MULTILINE)
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_INCOMPLETE_SUMS = re.compile(r"\bmissing go\.sum entry\b|\bupdates to go\.(?:mod|sum) needed\b")
_COMPLETE_SUMS = {"GOFLAGS": "-mod=mod"}
"""A variable that lets Go complete go.mod and go.sum while it builds."""
_MIN_VERSION = re.compile(r"^go (\d+(?:\.\d+)+)", re.MULTILINE)


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build the programs of each module, and its benchmarks; the module at the top comes first."""
    modules = [str(PurePosixPath(file).parent) for file in sources.files if PurePosixPath(file).name == "go.mod"]
    files = [
        file for file in sources.find_files_by_suffix(".go") if "testdata/" not in file and "/vendor/" not in f"/{file}"
    ]
    module_by_file = {file: _find_module(file, modules) for file in files}
    proposals = []
    for module in sorted(modules, key=lambda path: (path != ".", path.count("/"), path)):
        if not is_auxiliary(f"{module}/x"):
            proposals += _propose_module_build(
                sources, module, [file for file in files if module_by_file[file] == module]
            )
    return proposals


def complete_sums(proposal: BuildProposal, log: str) -> BuildProposal | None:
    """Return a build that completes ``go.sum`` if the given build failed because the file is incomplete; else None."""
    if "go" not in proposal.tools or "GOFLAGS" in proposal.environment or not _INCOMPLETE_SUMS.search(log):
        return None
    return replace(proposal, environment={**proposal.environment, GO.variable: GO.folder, **_COMPLETE_SUMS})


def _find_module(file: str, modules: list[str]) -> str | None:
    """Return the folder of the module that a file belongs to, the nearest one above it; None if there is none."""
    return next((str(folder) for folder in PurePosixPath(file).parents if str(folder) in modules), None)


def _propose_module_build(sources: Sources, module: str, files: list[str]) -> list[BuildProposal]:
    """Return the builds of one Go module: its programs and its benchmarks, or else its tests."""
    module_path = PurePosixPath(module)
    # Use the host's module cache: one in the tree would be downloaded for each revision.
    packages = {GO.variable: GO.folder} if sources.has(str(module_path / "go.sum")) else {}
    oldest_version = _MIN_VERSION.search(sources.read_text(str(module_path / "go.mod")))
    min_versions = {"go": oldest_version[1]} if oldest_version else {}
    target = "bin" if not sources.has_folder("bin") else "bin-faultwatch"
    # Go itself ignores folders whose names begin with these characters.
    user_programs = [
        file for file in files if not re.search(r"(^|/)[._]", str(PurePosixPath(file).relative_to(module_path)))
    ]
    programs = _count_matches_by_folder(
        sources, module_path, [file for file in user_programs if not file.endswith("_test.go")], _MAIN
    )
    test_files = [file for file in files if file.endswith("_test.go")]
    benchmarks = _count_matches_by_folder(sources, module_path, test_files, _BENCHMARK)
    environment = {**packages, **GO_CACHE_VARIABLES}
    # Tests and benchmarks find their data relative to the folder of their package, so they are run there.
    path_to_top = "/".join([".."] * len(module_path.parts)) or "."
    enter_steps = [] if module == "." else [f"cd {module}"]
    output = target if module == "." else f"{path_to_top}/{target}"

    def propose_programs(folders: Iterable[str]) -> list[BuildProposal]:
        """Return the build of the programs in the given folders; empty if there are none."""
        chosen_folders = sorted(folders, key=lambda path: path.count("/"))[:_MAX_PROGRAMS]
        packages_to_build = " ".join(f"./{folder}" for folder in chosen_folders)
        build = build_shell_command(*enter_steps, f"go build -o {output}/ {packages_to_build}")
        build_proposal = BuildProposal("Go", build, ("go",), environment, min_versions=min_versions)
        return [build_proposal] if chosen_folders else []

    paths = _list_module_paths(sources)
    own_imports = {
        folder: _imports_own_packages(
            [sources.read_text(file) for file in files if PurePosixPath(file).parent == module_path / folder], paths
        )
        for folder in programs
    }
    # Of several programs, one that uses other modules alone is there for comparison.
    foreign_programs = {
        folder for folder, is_own in own_imports.items() if is_own is False and True in own_imports.values()
    }
    development_programs = [
        folder for folder in programs if folder in foreign_programs or _helps_development(str(module_path / folder))
    ]
    proposals = propose_programs(folder for folder in programs if folder not in development_programs)
    if benchmarks:
        folder = _choose_main_package(benchmarks)
        build = build_shell_command(*enter_steps, f"go test -c -o {output}/benchmarks ./{folder}")
        texts = [sources.read_text(file) for file in files if PurePosixPath(file).parent == module_path / folder]
        pattern = select_own_benchmarks(texts, paths)
        run = _propose_benchmarks(str(module_path / folder), f"{target}/benchmarks", pattern)
        proposals.append(BuildProposal("Go", build, ("go",), environment, (run,), min_versions=min_versions))
    # A library without benchmarks is used by its tests.
    tests = _count_matches_by_folder(sources, module_path, test_files, _TEST) if not proposals else Counter[str]()
    if tests:
        folder = _choose_main_package(tests)
        build = build_shell_command(*enter_steps, f"go test -c -o {output}/tests ./{folder}")
        run = _run_in_package(str(module_path / folder), f"{target}/tests", _TEST_OPTIONS, is_test=True)
        proposals.append(BuildProposal("Go", build, ("go",), environment, (run,), min_versions=min_versions))
    return proposals + propose_programs(development_programs)


def _imports_own_packages(texts: Iterable[str], modules: Sequence[str]) -> bool | None:
    """Return whether a program imports packages of its project; None if it imports no module at all.

    Parameters
    ----------
    texts
        The contents of its files.
    modules
        The import paths of the project's modules.
    """
    imported_paths = {path for text in texts for path in _MODULE_IMPORT.findall(text)}
    is_own = any(f"{path}/".startswith(f"{module}/") for path in imported_paths for module in modules)
    return is_own if imported_paths else None


def _helps_development(folder: str) -> bool:
    """Return whether the programs in a folder help to develop the project: they generate its code, or are examples."""
    parts = {part.lower() for part in PurePosixPath(folder).parts}
    return is_auxiliary(f"{folder}/x") or not parts.isdisjoint(_DEVELOPMENT_FOLDERS)


def _choose_main_package(matches: Counter[str]) -> str:
    """Return the folder of the package that users import: the top of the module, or else the one with most matches."""
    return "." if "." in matches else max(matches, key=lambda path: matches[path])


def _count_matches_by_folder(
    sources: Sources, module: PurePosixPath, files: list[str], pattern: re.Pattern[str]
) -> Counter[str]:
    """Return how often a pattern occurs in the files of each folder of a module, given relative to the module.

    Files that Go ignores, and files for other systems, are left out.
    """
    counts: Counter[str] = Counter()
    for file in files:
        text = sources.read_text(file)
        n_matches = len(pattern.findall(text))
        if n_matches and not _IGNORED.search(text) and not _is_for_other_system(text):
            counts[str(PurePosixPath(file).parent.relative_to(module))] += n_matches
    return counts


def _is_for_other_system(text: str) -> bool:
    """Return whether the build constraint of a Go file names another operating system or processor than this host's."""
    constraint = _CONSTRAINT.search(text)
    return constraint is not None and not _OTHER_SYSTEMS.isdisjoint(re.findall(r"\w+", constraint[1]))


def _list_module_paths(sources: Sources) -> list[str]:
    """Return the paths by which the modules of a project are imported, the path of the module at the top first."""
    files = [file for file in sources.files if PurePosixPath(file).name == "go.mod"]
    matches = [_MODULE.search(sources.read_text(file)) for file in sorted(files, key=lambda file: file.count("/"))]
    return [match[1] for match in matches if match]


def select_own_benchmarks(texts: Sequence[str], modules: Sequence[str]) -> str:
    """Return a pattern that selects benchmarks: all, or those of this project if they compare it with other libraries.

    Parameters
    ----------
    texts
        The contents of a package's files.
    modules
        The import paths of the project's modules. The first one contains the name of the project.
    """
    # Benchmarks that import no other module compare no libraries.
    imported_paths = {path for text in texts for path in _MODULE_IMPORT.findall(text)}

    def is_own_path(path: str) -> bool:
        return any(f"{path}/".startswith(f"{module}/") for module in modules)

    if not modules or all(is_own_path(path) for path in imported_paths):
        return "."
    # Look for any spelling of the project's name in the names of the benchmarks, or else of their sub-benchmarks.
    project = re.sub(r"/v\d+$", "", modules[0]).rpartition("/")[2]
    project_pattern = "[_-]?".join(re.sub(r"[^a-z0-9]", "", project.lower()))
    for prefix, benchmark_pattern in (("", _BENCHMARK), ("./", _SUB_BENCHMARK)):
        names = {name for text in texts for name in benchmark_pattern.findall(text)}
        matches = [re.search(project_pattern, name, re.IGNORECASE) for name in names]
        matching_spellings = [match[0] for match in matches if match]
        if matching_spellings and len(matching_spellings) < len(names):
            spellings = sorted(set(matching_spellings))
            return prefix + (spellings[0] if len(spellings) == 1 else f"({'|'.join(spellings)})")
    return "."


def _propose_benchmarks(folder: str, program: str, pattern: str) -> RunProposal:
    """Return the command that runs the selected benchmarks of a package in the package's folder."""
    benchmark_pattern = f'"{pattern}"' if "|" in pattern else pattern
    arguments = f"-test.run=NONE -test.bench={benchmark_pattern} -test.benchtime={BENCHMARK_ROUNDS}x"
    return _run_in_package(folder, program, arguments)


def _run_in_package(folder: str, program: str, arguments: str, *, is_test: bool = False) -> RunProposal:
    """Return the command that executes a test program in the folder of its package, where it finds its data."""
    command = build_command_in_folder(folder, f"{program} {arguments}")
    return RunProposal(command, may_do_nothing=is_test, is_test=is_test, program=program)
