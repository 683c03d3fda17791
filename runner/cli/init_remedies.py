"""Explains why init built or measured no program, and names the most likely remedy."""

import re
import shlex
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.proposal import BuildProposal
    from runner.adoption.tried_command import TriedCommand

DRIVER_HINT = (
    "for a library, write a small driver program in a separate folder, with a workload.toml{} that builds the library "
    "and the driver; `faultwatch init FOLDER` then measures the driver and writes the CI file"
)
ONE_TARGET_HINT = (
    "build a single target, for example with --build "
    "\"sh -c 'cmake -B build && cmake --build build --target PROGRAM'\", and pass its program with --run"
)
_NETWORK_HINT = (
    "the build downloads files that this host cannot reach: give the host access to the network, or keep the files in "
    "the repository or on this host, and use --build to pass a build command that uses them"
)
_COMPILER_ERROR = re.compile(r"(?:^|: )(?:fatal )?error: (?!.*: No such file)|^Error: (?:Symbol|Syntax|Invalid|Type)")
"""What compilers of C, C++ and Fortran say about code that they reject."""
NO_PROGRAM = "the build produces no executable program"


class BuildError(Struct, frozen=True):
    """The first error of a way to build that failed.

    Attributes
    ----------
    missing_part
        The tool or package that the build lacks, with its remedy; empty if unknown.
    system
        The build system.
    """

    text: str
    missing_part: str
    system: str


def explain_missing_part(
    first_measurement: "FirstMeasurement",
    build_errors: Sequence[BuildError],
    finished_builds: "Sequence[tuple[BuildProposal, list[TriedCommand]]]",
) -> FaultwatchError | None:
    """Return the error that a build lacks something; None if it lacks nothing, or if another build made programs."""
    missing_part = next((error.missing_part for error in build_errors if error.missing_part), "")
    # Scripts outside a package only help to develop the programs that were not built.
    if not missing_part or not all(build.runs_loose_scripts for build, _ in finished_builds):
        return None
    return FaultwatchError(
        f"{first_measurement.repository.name} was not built", f"{missing_part}; then start init again"
    )


def describe_missing_part(error: BuildError) -> str:
    """Return what a build that failed lacks, with its remedy: a tool, a package or the network; empty if unknown."""
    from runner.subject.offline_builds import find_network_error

    return error.missing_part or (_NETWORK_HINT if find_network_error(error.text) else "")


def suggest_remedy(build: str | None, missing_submodules: tuple[str, ...], reason: str) -> str:
    """Return the remedy for the case that no program could be built and run, for a reason."""
    from runner.adoption.systems.lenient_compilers import names_option
    from runner.subject.offline_builds import find_network_error

    if find_network_error(reason):
        return _NETWORK_HINT
    first_step = _suggest_fetch(missing_submodules)
    if build is not None:
        return f"{first_step}correct --build {shlex.quote(build)}"
    driver = DRIVER_HINT.format(" (`incomplete = true` in [build])" if missing_submodules else "")
    if _COMPILER_ERROR.search(reason) and not first_step:
        first_step = (
            "with --build, pass a build command whose compiler accepts this old code, by the option in brackets; or, "
            if names_option(reason)
            else "install a newer compiler if this host's is too old for the commit; otherwise, "
        )
    return f"{first_step}pass the commands with --build and --run; or, {driver}"


def _suggest_fetch(missing_submodules: tuple[str, ...]) -> str:
    """Return the beginning of a remedy that names the submodules which the clone lacks; empty if it lacks none."""
    return f"fetch the submodules ({', '.join(missing_submodules)}), or " if missing_submodules else ""


def explain_failure(
    first_measurement: "FirstMeasurement",
    failures: "list[TriedCommand]",
    run: str | None,
    build_errors: Sequence[BuildError],
    finished_builds: "Sequence[tuple[BuildProposal, list[TriedCommand]]]",
    missing_submodules: tuple[str, ...],
) -> FaultwatchError:
    """Return the error that no program could be measured, with the most likely remedy.

    Parameters
    ----------
    build_errors
        The errors of other builds, which failed. The programs may lack what these builds would have made.
    finished_builds
        The builds whose commands failed, with their results.
    """
    from runner.adoption.printed_text import find_missing_module, needs_terminal
    from runner.adoption.server_proposals import HOW_TO, render_example_workload
    from runner.subject.offline_builds import find_network_error

    # A server is the most promising failure, because it only needs a load.
    servers = [
        (build, result.run)
        for build, tried_commands in finished_builds
        for result in tried_commands
        if result.run.obstacle
    ]
    if servers:
        build, server = servers[0]
        name = first_measurement.sources.name
        text = render_example_workload(name, build, server)
        return FaultwatchError(
            f"no program could be measured: {server.obstacle}",
            "write this workload.toml, but replace LOAD_GENERATOR with a load generator or a script, and fill in the "
            f"number of its operations ({HOW_TO}):\n" + textwrap.indent(text.rstrip(), "    "),
        )
    failure = failures[0]
    error_texts = [error.text for error in build_errors]
    network_error = next(filter(find_network_error, error_texts), "")
    cause = None if run else _find_error_behind_failures(failures, build_errors, finished_builds)
    if missing_submodules and not run:
        # The build that failed would probably have made a better program than those that lack arguments.
        cause = cause or next(iter(build_errors), None)
    if cause:
        return FaultwatchError(
            f"{first_measurement.repository.name} was not built: {cause.text}; without this build, {failure.problem}",
            cause.missing_part or suggest_remedy(None, missing_submodules, cause.text),
        )
    interactive_result = next((result for result in failures if needs_terminal(result.problem)), None)
    failure = interactive_result or failure
    module, _ = find_missing_module(failure.problem)
    tip = _suggest_other_command(failure, module, needs_terminal=interactive_result is not None)
    if run:
        is_explained = module or interactive_result or failure.timed_out
        tip = tip if is_explained else "correct --run, or make --build create the files that it needs"
        return FaultwatchError(f"{run!r} could not be measured: {failure.problem}", tip)
    if network_error and not (interactive_result or module):
        tip = _NETWORK_HINT  # the programs may lack what the build could not download
    other_error = f"; another build failed: {network_error or error_texts[0]}" if error_texts else ""
    return FaultwatchError(
        f"no program could be measured; {failure.run.command}, for example: {failure.problem}{other_error}", tip
    )


def _suggest_other_command(failure: "TriedCommand", missing_module: str, *, needs_terminal: bool) -> str:
    """Return how to pass a command that works in place of one that failed.

    Parameters
    ----------
    missing_module
        The Python module that the program lacks; empty if none.
    needs_terminal
        Whether the program failed because it needs a terminal.
    """
    if missing_module:
        return (
            f"make the build install {missing_module}, for example with --build \"sh -c 'python3 -m venv venv && "
            f"venv/bin/pip install {missing_module}'\" --run "
            f"'{failure.run.command.replace('python3 ', 'venv/bin/python ', 1)}'"
        )
    if needs_terminal:
        tip = "a measured program has no terminal: with --run, pass a command that needs no terminal"
    elif failure.timed_out:
        tip = "with --run, pass a command that takes a few seconds, for example with a smaller problem or input"
    else:
        # A command with a quote cannot be quoted here.
        example = "./program" if "'" in failure.run.command else failure.run.command
        tip = f"pass the arguments that it needs with --run, as in --run '{example} ARGUMENTS'"
    return f"{tip}; or, {DRIVER_HINT.format('')}"


def _find_error_behind_failures(
    failures: "list[TriedCommand]",
    build_errors: Sequence[BuildError],
    finished_builds: "Sequence[tuple[BuildProposal, list[TriedCommand]]]",
) -> BuildError | None:
    """Return the error of the build that would have made, or installed, what all programs lack; None if unknown.

    It is a build of the same system: what a Makefile builds, for example, is no module that a script of Node.js lacks.
    """
    from runner.adoption.printed_text import find_missing_code
    from runner.subject.offline_builds import find_network_error

    systems = {build.system for build, _ in finished_builds}
    candidates = [error for error in build_errors if error.system in systems]
    if not candidates or not all(find_missing_code(result.problem) for result in failures):
        return None
    return next((error for error in candidates if find_network_error(error.text)), candidates[0])
