"""Builds a project in the ways that its files suggest, until one works."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.cli.activity import show_activity
from runner.cli.init_remedies import DRIVER_HINT, NO_PROGRAM, ONE_TARGET_HINT, BuildError, suggest_remedy
from runner.cli.questions import Questions
from runner.cli.terminal import print_message
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.proposal import BuildProposal
    from runner.subject.build import BuildFailure
    from runner.subject.missing_packages import MissingPart


def list_proposals(
    first_measurement: "FirstMeasurement", build: str | None, run: str | None, missing_submodules: tuple[str, ...]
) -> list["BuildProposal"]:
    """Return the ways to build the project, the most likely first; only the user's command if ``build`` is given.

    Raises
    ------
    FaultwatchError
        The project has no known build, and the user has given no command.
    """
    from runner.adoption.build_system_detection import explain_missing_build, propose_builds
    from runner.adoption.own_code import has_no_code
    from runner.adoption.proposal import BuildProposal
    from runner.adoption.tool_environment import add_tool_paths
    from runner.adoption.version_from_git import detect_version_from_git
    from runner.subject.package_managers import GO, GO_CACHE_VARIABLES, PIP, find_managers

    proposals = propose_builds(first_measurement.sources)
    if build is not None:
        package_managers = find_managers([build])
        # The user's command probably also runs the tool that derives the version from the history.
        git_version = detect_version_from_git(first_measurement.sources, *(proposal.system for proposal in proposals))
        variables = {manager.variable: manager.setting for manager in package_managers}
        if GO in package_managers:
            variables |= GO_CACHE_VARIABLES
        proposals = [
            BuildProposal(
                "your command",
                build,
                # The host needs these tools, except pip, because a virtual environment has its own.
                tuple(manager.programs[0] for manager in package_managers if manager is not PIP),
                variables | dict(git_version.variables),
                min_versions=next((proposal.min_versions for proposal in proposals if proposal.min_versions), {}),
                git=git_version.git,
            )
        ]
    if not proposals and run is not None:
        proposals = [BuildProposal("no build system that init knows", "")]
    if not proposals:
        reason = explain_missing_build(first_measurement.sources)
        if has_no_code(first_measurement.sources):
            remedy = "the project may have moved: its README may name the new URL"
            raise FaultwatchError(f"{first_measurement.repository.path} {reason}", remedy)
        raise FaultwatchError(
            f"{first_measurement.repository.path} {reason}",
            f"pass the commands with --build and --run; or, {DRIVER_HINT.format('')}",
        )
    return [replace(add_tool_paths(proposal), incomplete=bool(missing_submodules)) for proposal in proposals]


def build_project(
    first_measurement: "FirstMeasurement",
    questions: Questions,
    proposals: list["BuildProposal"],
    build: str | None,
    run: str | None,
    missing_submodules: tuple[str, ...],
    build_errors: "list[BuildError]",
) -> tuple["BuildProposal", Path]:
    """Build the project in the first way that works; remove all ways that were tried from ``proposals``.

    Parameters
    ----------
    build_errors
        Receives the first error of each way that fails, except builds without downloads, which may only lack a package.

    Raises
    ------
    FaultwatchError
        The commit cannot be checked out, or no way works. The message then names the missing package, or the first
        error of the most likely way.
    """
    from runner.adoption.build_retries import list_build_retries
    from runner.adoption.tool_environment import describe_tools
    from runner.contract.report import Stage
    from runner.subject.build import BuildFailure

    first_error, is_error_offline, shown_tools, is_too_slow = "", False, "", False
    missing_part: MissingPart | None = None
    reasons: set[str] = set()
    while proposals:
        proposal = proposals.pop(0 if build is not None else _ask_for_build(questions, proposals))
        tool_names, missing_tools = describe_tools(proposal)
        if tool_names and tool_names != shown_tools:
            print_message(f"uses {tool_names}")
            shown_tools = tool_names
        try:
            with show_activity(f"building {first_measurement.revision.commit[:10]}"):
                tree, build_result = first_measurement.build(proposal)
        except (BuildFailure, FaultwatchError) as failure:
            if isinstance(failure, BuildFailure) and failure.stage is Stage.CHECKOUT:
                raise FaultwatchError(
                    f"{first_measurement.revision.commit[:10]} cannot be checked out: {failure.message}"
                ) from None
            # Explain the failure.
            part = _find_missing_part(first_measurement, proposal, failure)
            retries = list_build_retries(first_measurement.sources, proposal, failure, part) if build is None else []
            missing_part = missing_part or (None if retries else part)
            is_part_found = bool(retries) and retries[0].environment.get("PATH") != proposal.environment.get("PATH")
            problem = _describe_problem(failure, part, missing_tools, is_part_found=is_part_found)
            part = None if is_part_found else part
            error = _get_first_error(failure) or problem.splitlines()[0]
            if not proposal.offline:
                build_errors.append(BuildError(error, str(part) if part else "", proposal.system))
            if not first_error or is_error_offline:
                first_error = error
                # The error of a build without downloads is provisional: it may only be that a package is missing.
                is_error_offline = proposal.offline
            retries = _select_retries(proposal, retries, is_new_problem=_print_problem(problem, reasons))
            # Change what is tried next.
            if isinstance(failure, BuildFailure) and failure.timed_out:
                is_too_slow = True
                # A build that includes the tests takes even longer.
                proposals[:] = [other for other in proposals if not other.builds_tests]
            else:
                proposals[:0] = retries
            continue
        if build is not None or run is not None or first_measurement.list_run_proposals(proposal, tree):
            print_message(
                f"built in {build_result.seconds:.1f} s" + (", from the cache" if build_result.cached else "")
            )
            return proposal, tree
        print_message(NO_PROGRAM)
        reasons.add(NO_PROGRAM)
        if not proposal.is_reduced:
            # A build that makes less of the project has no program either.
            proposals[:] = [other for other in proposals if not other.is_reduced or other.system != proposal.system]
    if missing_part:
        raise FaultwatchError(
            f"{first_measurement.repository.name} was not built: {missing_part.name} is missing", missing_part.remedy
        )
    # That a library has no program is a more helpful message than why its benchmarks do not build.
    main_reason = NO_PROGRAM if NO_PROGRAM in reasons else first_error
    remedy = (
        ONE_TARGET_HINT if is_too_slow and build is None else suggest_remedy(build, missing_submodules, main_reason)
    )
    raise FaultwatchError(f"{first_measurement.repository.name} was not built: {main_reason}", remedy)


def _describe_problem(
    failure: "BuildFailure | FaultwatchError", part: "MissingPart | None", missing_tools: str, *, is_part_found: bool
) -> str:
    """Return why a build failed.

    Parameters
    ----------
    part
        What the build lacks; None if unknown.
    missing_tools
        Which tool is too old for the project; empty if none is.
    is_part_found
        Whether the part is a tool in a folder of this host, which the next attempt uses.
    """
    from runner.adoption.build_failure_text import describe_build_failure

    if part and is_part_found:
        return f"{part.tool} is outside its PATH: the next attempt adds its folder"
    problem = str(part) if part else describe_build_failure(failure)
    return f"{missing_tools}; {problem}" if missing_tools else problem


def _select_retries(
    proposal: "BuildProposal", retries: "list[BuildProposal]", *, is_new_problem: bool
) -> "list[BuildProposal]":
    """Return the variants of a failed build that may work.

    If an earlier build has failed for the same reason, it has also failed with one job.
    """
    from runner.adoption.proposal import make_build_serial

    serial_build = make_build_serial(proposal)
    return [retry for retry in retries if is_new_problem or retry != serial_build]


def _print_problem(problem: str, reasons: set[str]) -> bool:
    """Print why a build failed, and return whether the reason is new; add it to ``reasons``."""
    reason = problem.partition("\n")[2] or problem  # the end of the build's log, if there is one
    is_new = reason not in reasons
    reasons.add(reason)
    if is_new:
        print_message(f"the project does not build this way: {problem}")
    else:
        print_message("the project does not build this way either, for the same reason")
    return is_new


def _ask_for_build(questions: Questions, proposals: list["BuildProposal"]) -> int:
    """Show the most likely way to build, and let the user choose one; return its index."""
    print_message(f"{proposals[0].system}: {proposals[0].command or 'nothing to build'}")
    labels = [proposal.command or f"nothing ({proposal.system})" for proposal in proposals]
    return questions.choose("How is the project built?", labels)


def _get_first_error(failure: Exception) -> str:
    """Return the first error in the log of a failed build; empty if there is none, or if the build timed out."""
    from runner.adoption.build_failure_text import hide_build_path
    from runner.subject.build import BuildFailure
    from runner.subject.build_errors import find_first_error

    if not isinstance(failure, BuildFailure) or failure.timed_out:
        return ""
    return hide_build_path(find_first_error(failure.build.log, failure.message))


def _find_missing_part(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", failure: Exception
) -> "MissingPart | None":
    """Return the tool or the package that a failed build lacks, by its message or its log; None if they name none."""
    from runner.subject.build import BuildFailure
    from runner.subject.missing_packages import find_missing_dependency

    if not isinstance(failure, BuildFailure):
        return None
    return _find_missing_tool(proposal, failure.message) or find_missing_dependency(
        failure.build.log, first_measurement.sources.files
    )


def _find_missing_tool(proposal: "BuildProposal", message: str) -> "MissingPart | None":
    """Return the first tool of a build whose package is named in the message about missing tools; None if none is."""
    from runner.subject.missing_packages import name_missing_tool

    parts = map(name_missing_tool, proposal.tools)
    return next((part for part in parts if part.packages and part.remedy in message), None)
