"""Cargo: programs; otherwise benchmarks that can run once; otherwise examples; otherwise tests."""

import re
import tomllib
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal, RunProposal, build_command_in_folder, build_shell_command
from runner.adoption.sources import MAX_DEPTH, Sources, is_auxiliary, is_plain_path, is_third_party
from runner.subject.package_managers import CARGO

_FILE = "Cargo.toml"
_NAME = re.compile(r"[a-z0-9_][\w-]*", re.ASCII | re.IGNORECASE)
"""A name that is no option, and needs no quotes."""
_MAX_MEMBER_BENCHMARKS = 4
"""How many benchmarks of a workspace's packages are proposed."""
_MAX_TESTS = 6
"""How many test programs of a library are proposed, besides that of the tests in its sources."""
_HARNESSES = ("criterion", "divan", "codspeed-criterion-compat", "codspeed-divan-compat")
"""Benchmark libraries whose programs execute each benchmark once with ``--test``."""
_MAX_EXAMPLE_PACKAGES = 5
"""How many examples that are packages of their own are built."""
_EXAMPLE_FILE = re.compile(r"examples/(?:[^/]+\.rs|[^/]+/main\.rs)")
"""The usual paths of the examples that are part of a package."""
_EXAMPLE_PACKAGE = re.compile(r"examples/[^/]+/Cargo\.toml")
_SERVER_FRAMEWORKS = frozenset({"actix-web", "axum", "hyper", "poem", "rocket", "tide", "tonic", "warp"})
"""Libraries of servers, which do not end."""
CARGO_HOME = {CARGO.variable: CARGO.folder}
"""The package cache of the host, so that packages are not downloaded for each revision."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose a release build of the package, or of the workspace."""
    if not sources.has(_FILE):
        return []
    manifest = _read_manifest(sources)
    oldest_version = _find_oldest_version(manifest)
    min_versions = {"cargo": oldest_version} if oldest_version else {}
    return [replace(proposal, min_versions=min_versions) for proposal in _list_proposals(sources, manifest)]


def _find_oldest_version(manifest: dict[str, Any]) -> str:
    """Return the oldest version of Rust that a package, or else its workspace, supports; empty if neither names one."""
    workspace = manifest.get("workspace")
    workspace_package = workspace.get("package") if isinstance(workspace, dict) else None
    for package in (manifest.get("package"), workspace_package):
        version = package.get("rust-version") if isinstance(package, dict) else None
        if isinstance(version, str):
            return version
    return ""


def _list_proposals(sources: Sources, manifest: dict[str, Any]) -> list[BuildProposal]:
    """Return the ways to build a package: its programs, benchmarks, examples and tests.

    The plain build of a library makes no program, so it is proposed only if there is nothing else after the examples.
    """
    lock_option = " --locked" if sources.has("Cargo.lock") else ""
    tools = ("cargo",)
    programs = BuildProposal("Cargo", f"cargo build --release{lock_option}", tools, CARGO_HOME)
    benchmarks = [_propose_benchmark(*benchmark, lock_option) for benchmark in _list_benchmarks(sources, manifest)]
    benchmarks += _propose_member_benchmarks(sources)
    examples = []
    if "example" in manifest or any(_EXAMPLE_FILE.fullmatch(file) for file in sources.files):
        examples = [BuildProposal("Cargo", f"cargo build --release --examples{lock_option}", tools, CARGO_HOME)]
    tests = _propose_tests(sources, manifest, lock_option) or _propose_member_tests(sources, lock_option)
    # Examples that are packages of their own build the library again, and often run for long.
    last_builds = [*tests, *_propose_example_packages(sources)]
    if _has_programs(sources, manifest):
        return [programs, *benchmarks, *examples, *last_builds]
    return [*benchmarks, *examples, *(last_builds or [programs])]


def _read_manifest(sources: Sources, file: str = _FILE) -> dict[str, Any]:
    """Return the content of a Cargo.toml; empty if it is not valid."""
    try:
        return tomllib.loads(sources.read_text(file))
    except (ValueError, RecursionError):
        return {}


def _has_programs(sources: Sources, manifest: dict[str, Any]) -> bool:
    """Return whether a build at the top makes programs, by the manifests or the usual paths of the sources.

    A package at the top is built without the others of its workspace.
    """
    if "package" in manifest:
        return "bin" in manifest or any(file == "src/main.rs" or file.startswith("src/bin/") for file in sources.files)
    files = [file for file in sources.files if not is_auxiliary(file)]
    manifests = (_read_manifest(sources, file) for file in files if PurePosixPath(file).name == _FILE)
    return any(PurePosixPath(file).match("src/main.rs") or "/src/bin/" in f"/{file}" for file in files) or any(
        "bin" in manifest for manifest in manifests
    )


def _list_benchmarks(sources: Sources, manifest: dict[str, Any], folder: str = "") -> list[tuple[str, str]]:
    """Return the names of the benchmarks with a main function of their own, and the arguments that start each.

    With a known benchmark library, each benchmark is executed once; without one, the program does all of its work.

    Parameters
    ----------
    folder
        The folder of the package; empty if it is the top.
    """
    entries = manifest.get("bench")
    names = [
        entry.get("name")
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and entry.get("harness") is False
    ]
    plain_names = [name for name in names if isinstance(name, str) and _NAME.fullmatch(name)]
    if not _list_dev_dependencies(manifest).isdisjoint(_HARNESSES):
        return [(name, "--bench --test") for name in plain_names]
    prefix = f"{folder}/" if folder else ""
    return [(name, "--bench") for name in plain_names if "fn main(" in sources.read_text(f"{prefix}benches/{name}.rs")]


def _list_dev_dependencies(manifest: dict[str, Any]) -> set[str]:
    """Return the development dependencies of a package, on all platforms or on some."""
    targets = manifest.get("target")
    platforms = targets.values() if isinstance(targets, dict) else ()
    tables = (table.get("dev-dependencies") for table in (manifest, *platforms) if isinstance(table, dict))
    return {name for table in tables if isinstance(table, dict) for name in table}


def _propose_benchmark(name: str, arguments: str, lock_option: str, folder: str = "") -> BuildProposal:
    """Return the build of one benchmark, which also copies its program to a stable path.

    Parameters
    ----------
    folder
        The folder of the package, in which the benchmark is executed; empty if it is the top.
    """
    program = f"target/release/bench-{name}"
    package_options = f" --manifest-path {folder}/{_FILE} --target-dir target" if folder else ""
    build = build_shell_command(
        f"cargo build --release{package_options} --bench {name}{lock_option}", _copy_program(name, program)
    )
    command = build_command_in_folder(folder, f"{program} {arguments}")
    return BuildProposal("Cargo", build, ("cargo",), CARGO_HOME, (RunProposal(command, program=program),))


def _propose_member_benchmarks(sources: Sources) -> list[BuildProposal]:
    """Return the builds of the benchmarks of packages in folders."""
    files = [
        file
        for file in sources.find_files_by_suffix(".toml")
        if PurePosixPath(file).name == _FILE and 0 < file.count("/") <= MAX_DEPTH and not is_third_party(file)
    ]
    folders = [
        str(PurePosixPath(file).parent)
        for file in sorted(filter(is_plain_path, files), key=lambda file: (file.count("/"), file))
    ]
    return [
        _propose_benchmark(*benchmark, lock_option="", folder=folder)
        for folder in folders
        for benchmark in _list_benchmarks(sources, _read_manifest(sources, f"{folder}/{_FILE}"), folder)
    ][:_MAX_MEMBER_BENCHMARKS]


def _propose_example_packages(sources: Sources) -> list[BuildProposal]:
    """Return the build of a few examples that are packages of their own: those that need the fewest other packages.

    They use the project by its path, and are no part of its package, so that its own build leaves them out. Each is
    started in its folder, where it finds its data.
    """
    dependencies: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for file in filter(_EXAMPLE_PACKAGE.fullmatch, filter(is_plain_path, sources.files)):
        folder = str(PurePosixPath(file).parent)
        manifest = _read_manifest(sources, file)
        table, package = manifest.get("dependencies"), manifest.get("package")
        name = package.get("name") if isinstance(package, dict) else None
        is_usable = isinstance(name, str) and bool(_NAME.fullmatch(name)) and sources.has(f"{folder}/src/main.rs")
        if is_usable and isinstance(table, dict) and _SERVER_FRAMEWORKS.isdisjoint(table):
            dependencies[folder], names[folder] = set(table), str(name)
    folders = sorted(dependencies, key=lambda folder: (len(dependencies[folder]), folder))[:_MAX_EXAMPLE_PACKAGES]
    steps = [
        f"cargo build --release --manifest-path {folder}/{_FILE} --target-dir target/examples" for folder in folders
    ]
    programs = {folder: f"target/examples/release/{names[folder]}" for folder in folders}
    runs = tuple(
        RunProposal(build_command_in_folder(folder, program), may_do_nothing=True, program=program)
        for folder, program in programs.items()
    )
    return [BuildProposal("Cargo", build_shell_command(*steps), ("cargo",), CARGO_HOME, runs)] if steps else []


def _propose_member_tests(sources: Sources, lock_option: str) -> list[BuildProposal]:
    """Return the build of the tests of one package in a folder: the one with the project's name, or with most tests."""
    folders = [
        PurePosixPath(file).parent
        for file in sources.find_files_by_suffix(".toml")
        if PurePosixPath(file).name == _FILE and 0 < file.count("/") <= MAX_DEPTH and not is_auxiliary(file)
    ]

    def rank(folder: PurePosixPath) -> tuple[bool, int, str]:
        n_tests = sum(file.startswith(f"{folder}/tests/") for file in sources.files)
        return folder.name.lower() != sources.name.lower(), -n_tests, str(folder)

    builds = (
        _propose_tests(sources, _read_manifest(sources, str(folder / _FILE)), lock_option, str(folder))
        for folder in sorted(filter(lambda folder: is_plain_path(str(folder)), folders), key=rank)
    )
    return next(filter(None, builds), [])


def _propose_tests(
    sources: Sources, manifest: dict[str, Any], lock_option: str, folder: str = ""
) -> list[BuildProposal]:
    """Return the build of a library's tests, which also copies their programs to stable paths.

    Parameters
    ----------
    folder
        The folder of the package, in which the tests are executed; empty if it is the top.
    """
    crate = _get_crate_name(manifest)
    prefix = f"{folder}/" if folder else ""
    if not crate or not sources.has(f"{prefix}src/lib.rs"):
        return []
    files = [PurePosixPath(file.removeprefix(prefix)) for file in sources.files if file.startswith(prefix)]
    # In Cargo's folder, the program of a test could not be told from a program with the same name.
    bins = manifest.get("bin")
    entries = [entry for entry in bins if isinstance(entry, dict)] if isinstance(bins, list) else []
    taken_names = {crate, *(file.stem for file in files if file.match("src/bin/*.rs"))}
    taken_names |= {str(entry.get("name")) for entry in entries}
    tests = [
        file.stem
        for file in files
        if file.match("tests/*.rs")
        and len(file.parts) == 2
        and _NAME.fullmatch(file.stem)
        and file.stem.replace("-", "_") not in {name.replace("-", "_") for name in taken_names}
    ][:_MAX_TESTS]
    has_tests = any("#[test]" in sources.read_text(f"{prefix}{file}") for file in files if file.match("src/*.rs"))
    programs = {name: f"target/release/test-{name}" for name in [*tests, *([crate] if has_tests else [])]}
    package_options = f" --manifest-path {prefix}{_FILE} --target-dir target" if folder else ""
    start = f"cargo test --release{package_options} --no-run"
    steps = []
    if has_tests:  # Copied before the tests are built, with which Cargo also builds the package's programs.
        steps += [f"{start} --lib{lock_option}", _copy_program(crate, programs[crate])]
    if tests:
        options = " ".join(f"--test {name}" for name in tests)
        steps.append(f"{start} {options}{lock_option}")
        steps += [_copy_program(name, programs[name]) for name in tests]
    build = build_shell_command(*steps)
    commands = {
        program: build_command_in_folder(folder, f"{program} --test-threads=1") for program in programs.values()
    }
    runs = tuple(
        RunProposal(command, may_do_nothing=True, is_test=True, program=program if folder else "")
        for program, command in commands.items()
    )
    return [BuildProposal("Cargo", build, ("cargo",), CARGO_HOME, runs)] if runs else []


def _copy_program(name: str, program: str) -> str:
    """Return the command that copies a benchmark or test to a stable path: Cargo adds a hash to its name."""
    file = name.replace("-", "_")
    return f'find target/release/deps -type f -perm -u+x -name "{file}-*" -exec cp {{}} {program} ";"'


def _get_crate_name(manifest: dict[str, Any]) -> str:
    """Return the name of a package's library in Rust; empty if the manifest names none, or one that needs quotes."""
    tables = (manifest.get("lib"), manifest.get("package"))
    names = [table.get("name") for table in tables if isinstance(table, dict)]
    name = next((name for name in names if name is not None), None)
    return name.replace("-", "_") if isinstance(name, str) and _NAME.fullmatch(name) else ""
