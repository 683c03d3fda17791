"""Cargo: programs; otherwise benchmarks that can run once; otherwise examples."""

import tomllib
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import Sources
from runner.subject.package_managers import CARGO

_HARNESSES = ("criterion", "divan", "codspeed-criterion-compat", "codspeed-divan-compat")
"""Benchmark libraries whose programs execute each benchmark once with ``--test``."""
CARGO_HOME = {CARGO.variable: CARGO.folder}
"""The package cache of the host, so that packages are not downloaded for each revision."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose a release build of the package, or of the workspace."""
    if not sources.has("Cargo.toml"):
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
    """Return the ways to build a package: its programs, benchmarks and examples. A library's plain build comes last."""
    locked = " --locked" if sources.has("Cargo.lock") else ""
    tools = ("cargo",)
    programs = BuildProposal("Cargo", f"cargo build --release{locked}", tools, CARGO_HOME)
    benchmarks = [_propose_benchmark(name, locked) for name in _list_benchmarks(manifest)]
    examples = []
    if sources.has_folder("examples") or "example" in manifest:
        examples = [BuildProposal("Cargo", f"cargo build --release --examples{locked}", tools, CARGO_HOME)]
    if _has_programs(manifest, sources):
        return [programs, *benchmarks, *examples]
    return [*benchmarks, *examples, programs]


def _read_manifest(sources: Sources) -> dict[str, Any]:
    """Return the content of Cargo.toml; empty if it is not valid."""
    try:
        return tomllib.loads(sources.read_text("Cargo.toml"))
    except (ValueError, RecursionError):
        return {}


def _has_programs(manifest: dict[str, Any], sources: Sources) -> bool:
    """Return whether a package builds programs, by its manifest or by the usual paths of their sources."""
    if "bin" in manifest or "workspace" in manifest:
        return True
    return any(PurePosixPath(file).match("src/main.rs") or file.startswith("src/bin/") for file in sources.files)


def _list_benchmarks(manifest: dict[str, Any]) -> list[str]:
    """Return the names of the benchmarks whose main function comes from a known benchmark library."""
    entries = manifest.get("bench")
    if not isinstance(entries, list) or _list_dev_dependencies(manifest).isdisjoint(_HARNESSES):
        return []
    names = [entry.get("name") for entry in entries if isinstance(entry, dict) and entry.get("harness") is False]
    return [name for name in names if isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()]


def _list_dev_dependencies(manifest: dict[str, Any]) -> set[str]:
    """Return the development dependencies of a package, on all platforms or on some."""
    targets = manifest.get("target")
    platforms = targets.values() if isinstance(targets, dict) else ()
    tables = (table.get("dev-dependencies") for table in (manifest, *platforms) if isinstance(table, dict))
    return {name for table in tables if isinstance(table, dict) for name in table}


def _propose_benchmark(name: str, lock_option: str) -> BuildProposal:
    """Return the build of one benchmark, which also copies its program to a stable path."""
    # Cargo adds a hash to the name of the program.
    program = f"target/release/bench-{name}"
    copy = f'find target/release/deps -type f -perm -u+x -name "{name}-*" -exec cp {{}} {program} ";"'
    build = build_shell_command(f"cargo build --release --bench {name}{lock_option}", copy)
    return BuildProposal("Cargo", build, ("cargo",), CARGO_HOME, (RunProposal(f"{program} --bench --test"),))
