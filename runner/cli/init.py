"""``faultwatch init``: propose a workload file for a repository, measure it, and write a file for its CI."""

import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from runner.ci.registry import CI_SYSTEMS, NO_CI
from runner.cli.activity import show_activity
from runner.cli.arguments import add_workload_argument
from runner.cli.measuring_setup import create_host_turn, prepare_workbench
from runner.cli.options import apply_options, make_sandbox_option, result_options
from runner.cli.questions import Questions
from runner.cli.result_output import output_result
from runner.cli.terminal import print_message
from runner.contract.word_list import join_words
from runner.errors import FaultwatchError
from runner.settings import load_settings
from runner.workload import WORKLOAD_FILE

if TYPE_CHECKING:
    from runner.adoption.ci_files import CiFile
    from runner.adoption.exactness import Exactness
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.gate_trial import GateTrial
    from runner.adoption.proposal import RunProposal
    from runner.adoption.sources import Sources
    from runner.adoption.tried_command import TriedCommand
    from runner.cli.init_choice import BuildAndRunChoice
    from runner.contract.report import Report, Revision
    from runner.settings import Settings
    from runner.subject.build import Builder
    from runner.subject.repository import Repository
    from runner.workload import Workload

_DEFAULT_WINDOWS = 3
"""How many windows of a proposed server are measured by default."""
_TIMEOUT_FACTOR = 20
"""The proposed time limit as a multiple of the measured time: a margin for slower hosts."""
_DEFAULT_TIMEOUT_SECONDS = 60
"""The time limit that applies if a workload file sets none."""
_MAX_LOG_LINES, _MAX_LOG_LINE_CHARACTERS = 3, 200
_MAX_SUGGESTED_COMMITS = 10
_DO_WORK_HINT = (
    "Change `command` in [run] of workload.toml so that it does the work that users wait for; `faultwatch measure` "
    "then counts its faults with the same build"
)
_LOAD_HINT = (
    "Make `command` in [server] of workload.toml serve something, such as a folder of pages in the repository, and "
    "make `command` in [load] request it"
)
_NO_INPUT_REMARK = "`{}` gets no input, so it may do nothing but start up. " + _DO_WORK_HINT
_ONLY_USAGE_REMARK = (
    "`{}` only prints {}, so this counts little more than the program's start-up, which hardly any change to the "
    "project affects. Add an input to the repository, and make `command` in [run] of workload.toml process it as users "
    "would, as in `{} … INPUT`; `faultwatch measure` then counts its faults with the same build"
)
_FOREIGN_REMARK = (
    "`{}` executes nothing that this project builds, so no change to the project moves its count. " + _DO_WORK_HINT
)
_STAND_IN_REMARK = "The program reads {}, which may not be meant as its input. " + _DO_WORK_HINT
_MISSING_PART_REMARK = "Programs that do more work may be in the parts of the project that were not built: {}"
_FAILED_REMARK = (
    "A better benchmark could not be measured: {}. To measure it, make `command` in [build] of workload.toml create "
    "the files that the benchmark needs, or give the benchmark less work; then make it the `command` in [run]"
)

_MISSING_MODULE_REMARK = (
    "`{0}` may be a better benchmark, but the Python module {1}, which it needs, is not installed. To measure it, add "
    "`venv/bin/python -m pip install PACKAGE`, with the package that provides {1}, to `command` in [build] of "
    "workload.toml, and make `{0}` the `command` in [run]"
)
_SERVER_REMARK = (
    "{}. To measure it under load, replace `command` in [run] with the tables at the end of workload.toml, and fill in "
    "a load generator or a script: {}"
)
_FIXED_PORT_REMARK = (
    "`{}` always listens on the same port, so two instances of it cannot run at the same time, and another program may "
    "already be using the port: give the program an option or a variable for the port, and pass {{port}} in [server] "
    "of workload.toml"
)
_GATE_READS_REMARK = (
    "The gate builds in a sandbox that has no network and must expose {0}: {1}. The gate's host must have the same "
    "tools and packages there; the first `faultwatch measure` on that host downloads the packages"
)
_GATE_FAILS_REMARK = "The gate builds in a sandbox without a network, and the build fails there: {}"
_GATE_UNTRIED_REMARK = "The gate builds in a sandbox without a network, and this host could not try such a build: {}"


@click.command(name="init")
@apply_options(
    add_workload_argument,
    click.option(
        "--repo",
        metavar="PATH",
        help="The repository to set up. Default: the one that contains WORKLOAD or the current folder.",
    ),
    click.option(
        "--yes", "-y", is_flag=True, help="Ask no questions and use all defaults. Existing files are left unchanged."
    ),
    click.option(
        "--build",
        "build_command",
        metavar="COMMAND",
        help="The build command. Default: derived from the repository's files.",
    ),
    click.option(
        "--run",
        "run_command",
        metavar="COMMAND",
        help="The command to measure. Default: a program that the build makes.",
    ),
    click.option(
        "--ci",
        type=click.Choice([*CI_SYSTEMS, NO_CI]),
        help=(
            "The CI system to write a file for. Default: the one that the repository uses, or otherwise a shell script."
        ),
    ),
    make_sandbox_option("never"),
    result_options,
)
def command(
    workload_name: str | None,
    repo: str | None,
    yes: bool,
    build_command: str | None,
    run_command: str | None,
    ci: str | None,
    sandboxed: bool | None,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Propose a workload.toml for a repository, build and measure its last commit, and write its CI file.

    If the repository has a workload.toml, such as one that you wrote for a driver, or if you pass one as WORKLOAD, init
    keeps and measures it, and writes only the CI file. Otherwise the build system is detected: CMake, Meson, Autotools,
    Make, Cargo, Go, Maven, Gradle, javac, npm, Python, Fortran, build.sh or plain C files. Every question has a
    default. No existing file is replaced without your consent. Exit code 1 if the program was not measured.
    """
    from runner.adoption.ci_files import detect_ci, render_ci_file
    from runner.adoption.existing_workload import get_workload_folder
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.gate_trial import GateTrial
    from runner.adoption.sources import read_sources
    from runner.adoption.systems.python import build_download_command
    from runner.adoption.version_from_git import describe_version
    from runner.subject.repository import Repository, open_repository

    # Open the repository, and find its workload file.
    is_new_workload = bool(build_command or run_command)
    if is_new_workload and workload_name:
        raise click.UsageError("--build and --run are for a new workload file: omit them, or omit WORKLOAD.")
    _refuse_own_folder(build_command, run_command)
    settings = load_settings()
    questions = Questions(silent=yes)
    location = repo or (get_workload_folder(workload_name) if workload_name else ".")
    opened_repository = open_repository(location, settings.clones)
    work_tree = _get_work_tree(opened_repository)
    repository = Repository(work_tree, opened_repository.name)
    revision = repository.get_revision("HEAD")
    sources = read_sources(repository, revision.commit)
    workload_file, kept_workload = _find_workload_file(
        repository, work_tree, workload_name, questions, is_new=is_new_workload
    )
    is_existing_file_rejected = kept_workload is None and workload_file.exists()
    missing_submodules = _complete_clone(repository, revision, sources, kept_workload, questions)
    ci_system = ci or _ask_ci(questions, detect_ci(sources, _get_remote(repository)))
    workload_path, branch = str(workload_file.relative_to(work_tree)), _detect_branch(repository)
    # Before the measurements, refuse a path that no CI file can contain.
    render_ci_file(ci_system, sources, workload=workload_path, branch=branch)
    # Measure the existing workload, or propose one and measure it.
    with create_host_turn(settings) as turn:
        workbench = prepare_workbench(settings, turn=turn, sandboxed=bool(sandboxed))
        first_measurement = FirstMeasurement(repository, revision, sources, workload_file, workbench)
        proposal = None
        if kept_workload is None:
            proposal, reports = _propose_and_measure(
                first_measurement, questions, build_command, run_command, missing_submodules
            )
        else:
            reports = _measure_workload(first_measurement, kept_workload)
    workload = proposal.workload if proposal else kept_workload
    assert workload
    trial_counts, tried_settings = (proposal.trial_counts, proposal.tried_settings) if proposal else ((), ())
    # Write the workload file, and the file of the gate for the CI system.
    written_files = (
        _write_workload(work_tree, proposal.text, questions, replace=is_existing_file_rejected) if proposal else []
    )
    gate = GateTrial() if ci_system == NO_CI or sandboxed else _try_gate(repository, revision, workload, settings)
    ci_file = render_ci_file(ci_system, sources, workload=workload_path, branch=branch, readable=gate.readable)
    if ci_file:
        written_files += _write_ci_file(work_tree, ci_file, questions)
    # Print the result.
    download_command = build_download_command(sources, " ".join(workload.build.command or ()))
    is_ci_file_kept = ci_file is not None and ci_file.path not in written_files
    remarks = [
        *(proposal.remarks if proposal else ()),
        describe_version(sources, workload.build.environment, git=workload.build.git),
        _describe_kept_ci_file(work_tree / ci_file.path, workload_path) if ci_file and is_ci_file_kept else "",
        *_list_gate_remarks(gate, ci_file, download_command),
    ]
    history_arguments = [
        *_format_workload_argument(workload_file, work_tree),
        *_select_last_commits(repository),
        "--repo",
        shlex.quote(location),
    ]
    output_result(
        _build_document(work_tree, workload_file, written_files, reports, trial_counts, gate),
        as_json=as_json,
        output_file=output_file,
        show=lambda: _show_result(
            reports, trial_counts, tried_settings, written_files, remarks, ci_file, " ".join(history_arguments)
        ),
    )
    if not any(report.samples for report in reports):
        raise click.exceptions.Exit(1)


class _WorkloadProposal(Struct, frozen=True):
    """A proposed workload.

    Attributes
    ----------
    text
        The text of its file.
    remarks
        Remarks for the user about the workload.
    trial_counts
        The fault counts of the chosen command when it was tried.
    tried_settings
        What was tried in vain to make its count repeat.
    command
        The chosen command, without its variables.
    """

    text: str
    workload: "Workload"
    remarks: list[str]
    trial_counts: tuple[int, ...]
    tried_settings: tuple[str, ...]
    command: str


def _find_workload_file(
    repository: "Repository", work_tree: Path, workload_name: str | None, questions: Questions, *, is_new: bool
) -> "tuple[Path, Workload | None]":
    """Return the path of the workload file, and the existing workload if the user keeps it.

    Parameters
    ----------
    is_new
        Whether the user passed the commands for a new workload.
    """
    from runner.adoption.existing_workload import choose_kept_workload, locate_workload_file, refuse_second_workload
    from runner.subject.workload_files import list_workload_files

    if is_new:
        workload_file = work_tree / WORKLOAD_FILE
        refuse_second_workload(list_workload_files(repository), workload_file, questions.confirm)
        return workload_file, None
    workload_file = locate_workload_file(repository, work_tree, workload_name)
    return workload_file, choose_kept_workload(workload_file, work_tree, questions.confirm, print_message)


def _describe_kept_ci_file(file: Path, workload_path: str) -> str:
    """Return a remark if the existing CI file was kept, and does not measure a workload; otherwise empty.

    Parameters
    ----------
    workload_path
        The path of the workload file in the repository.
    """
    text = ""
    with suppress(OSError):  # it is a folder, or a link to a missing file
        text = file.read_text(encoding="utf-8", errors="replace")
    # Not as a part of a longer path, except below "./" or the value of a variable, which may be the top.
    beginning = r"(?<![\w./-])(?:\./)?|\$\w+/|[}\"']/"
    whole_path = rf"(?:{beginning}){re.escape(workload_path)}(?![\w/-])"
    if re.search(whole_path, text):
        return ""
    return (
        f"{file.name} was left unchanged and does not mention {workload_path}, so no gate measures that workload: "
        "add another gate step for it, with different output files"
    )


def _refuse_own_folder(*commands: str | None) -> None:
    """Refuse the placeholder ``{workload}`` in commands: here, the workload file's folder is the whole repository.

    Raises
    ------
    FaultwatchError
        A command contains the placeholder.
    """
    from runner.workload.placeholders import OWN_FOLDER_PLACEHOLDER

    if any(OWN_FOLDER_PLACEHOLDER in command for command in commands if command):
        raise FaultwatchError(
            f"{OWN_FOLDER_PLACEHOLDER} is the folder of the workload file, but init writes that file to the top of the "
            "repository",
            "use paths relative to the repository, or write a workload.toml in a separate folder",
        )


def _measure_workload(first_measurement: "FirstMeasurement", workload: "Workload") -> "list[Report]":
    """Measure the workload once; if it does not build, raise an error that contains the build's error."""
    from runner.adoption.build_failure_text import describe_build_failure
    from runner.subject.build import BuildFailure

    try:
        with show_activity(f"measuring {workload.name}") as activity:
            return first_measurement.measure_workload(workload, progress=activity)
    except BuildFailure as failure:
        commit = first_measurement.revision.commit[:10]
        message = f"{workload.path} cannot be built at {commit}: {describe_build_failure(failure)}"
        remedy = "correct the file, or remove it and pass the commands with --build and --run"
        raise FaultwatchError(message, remedy if workload.path.exists() else "correct the commands") from None


def _complete_clone(
    repository: "Repository",
    revision: "Revision",
    sources: "Sources",
    kept_workload: "Workload | None",
    questions: Questions,
) -> tuple[str, ...]:
    """Offer to fetch missing submodules; refuse the clone if it lacks other parts of the sources.

    Return the submodules that are still missing, without which a new workload has to be built.
    """
    is_whole_needed = not (kept_workload and kept_workload.build.incomplete)
    missing_submodules: tuple[str, ...] = ()
    if is_whole_needed and sources.has(".gitmodules"):
        missing_submodules = _fetch_submodules(repository.path, questions, kept_workload)
    _refuse_incomplete_commit(repository, revision, kept_workload, missing_submodules)
    return missing_submodules


def _fetch_submodules(top: Path, questions: Questions, kept_workload: "Workload | None") -> tuple[str, ...]:
    """Offer to fetch the submodules that a clone lacks; return the paths of those that are still missing.

    Raises
    ------
    FaultwatchError
        They cannot be fetched, but the existing workload file needs them.
    """
    from runner.adoption.submodules import UPDATE_COMMAND, fetch_submodules, find_missing_submodules

    missing_submodules = find_missing_submodules(top)
    if not missing_submodules:
        return ()
    noun = "submodule" if len(missing_submodules) == 1 else "submodules"
    print_message(f"this clone lacks the {noun} {join_words(missing_submodules)}")
    if not questions.confirm(f"Run `{UPDATE_COMMAND}`?", default=True):
        return missing_submodules
    try:
        with show_activity(UPDATE_COMMAND):
            fetch_submodules(top)
    except FaultwatchError as failure:
        if kept_workload:
            remedy = f"run it by hand, or set `incomplete = true` in [build] of {kept_workload.path}"
            raise FaultwatchError(failure.what, remedy) from None
        print_message(f"{failure.what}\n  → continuing without the submodules")
    return find_missing_submodules(top)


def _refuse_incomplete_commit(
    repository: "Repository",
    revision: "Revision",
    kept_workload: "Workload | None",
    missing_submodules: tuple[str, ...],
) -> None:
    """Refuse a commit if the clone lacks a part of it that its build needs."""
    from runner.subject.check_clone_before_turn import refuse_incomplete_checkouts, refuse_missing_parts

    if kept_workload:
        refuse_incomplete_checkouts(repository, kept_workload, (revision,))
    elif not missing_submodules:  # Otherwise the new workload gets `incomplete = true`, so that it may lack any part.
        refuse_missing_parts(repository, (revision,))


def _propose_and_measure(
    first_measurement: "FirstMeasurement",
    questions: Questions,
    build: str | None,
    run: str | None,
    missing_submodules: tuple[str, ...],
) -> "tuple[_WorkloadProposal, list[Report]]":
    """Propose a workload and measure it; if its command fails, propose one with another command.

    A command that worked in its trial may fail now and then: a benchmark may judge its own time, for example. If no
    other command works, the first proposal is returned. For the parameters, see :func:`_propose_workload`.
    """
    proposal = _propose_workload(first_measurement, questions, build, run, missing_submodules)
    reports = _measure_workload(first_measurement, proposal.workload)
    if run or any(report.samples for report in reports):
        return proposal, reports
    print_message(f"`{proposal.command}` worked when it was tried, and fails now: trying the other commands again")
    with suppress(FaultwatchError):
        other_proposal = _propose_workload(
            first_measurement, questions, build, run, missing_submodules, unreliable_command=proposal.command
        )
        other_reports = _measure_workload(first_measurement, other_proposal.workload)
        if any(report.samples for report in other_reports):
            return other_proposal, other_reports
    return proposal, reports


def _propose_workload(
    first_measurement: "FirstMeasurement",
    questions: Questions,
    build: str | None,
    run: str | None,
    missing_submodules: tuple[str, ...],
    unreliable_command: str = "",
) -> _WorkloadProposal:
    """Choose what to build and to measure, and return it as a new workload.

    Parameters
    ----------
    build, run
        The commands that the user passed; None to find them.
    missing_submodules
        Submodules that the clone lacks.
    unreliable_command
        A command that is not chosen, with or without its input; empty for none.
    """
    from runner.adoption.caveats import describe_caveat
    from runner.adoption.server_proposals import list_example_lines
    from runner.adoption.workload_text import render_workload
    from runner.cli.init_choice import choose_build_and_run

    choice = choose_build_and_run(
        first_measurement,
        questions,
        build=build,
        run=run,
        missing_submodules=missing_submodules,
        unreliable_command=unreliable_command,
    )
    # The time limit applies to each window of a server, or otherwise to an execution.
    seconds = choice.tried_command.seconds / (_DEFAULT_WINDOWS if choice.tried_command.run.load else 1)
    timeout_seconds = _TIMEOUT_FACTOR * seconds
    timeout = int(timeout_seconds) if timeout_seconds > _DEFAULT_TIMEOUT_SECONDS else None
    caveat = "" if run else describe_caveat(choice.tried_command, choice.start_faults)
    text = render_workload(
        first_measurement.sources.name, choice.proposal, choice.tried_command.run, timeout=timeout, caveat=caveat
    )
    # For a server that could not be loaded, the file contains example tables.
    failed_server = next((tried_command.run for tried_command in choice.failures if tried_command.run.obstacle), None)
    if failed_server and not choice.tried_command.run.load:
        text += "\n" + "".join(f"{line}\n" for line in list_example_lines(failed_server))
    # The caveat itself is printed above, below the counts.
    weakness = _describe_weakness(choice.tried_command) or (caveat and _suggest_work(choice.tried_command.run))
    remarks = [
        weakness,
        *(_MISSING_PART_REMARK.format(part) for part in choice.missing_parts if weakness),
        *_describe_rejected_commands(choice),
        _describe_server(choice.tried_command.run, failed_server),
    ]
    distinct_remarks = list(dict.fromkeys(remark for remark in remarks if remark))
    return _WorkloadProposal(
        text,
        first_measurement.parse_workload(text),
        distinct_remarks,
        choice.tried_command.faults,
        choice.tried_settings,
        choice.tried_command.run.command,
    )


def _describe_server(run: "RunProposal", failed_server: "RunProposal | None") -> str:
    """Return a remark about the proposed server, or about a server that could not be loaded; empty without remark."""
    from runner.adoption.server_proposals import HOW_TO

    if run.load:
        # Only a server whose port cannot be chosen has a command that finds out whether it is ready.
        return _FIXED_PORT_REMARK.format(run.command) if run.ready_command else ""
    return _SERVER_REMARK.format(failed_server.obstacle, HOW_TO) if failed_server else ""


def _describe_weakness(tried_command: "TriedCommand") -> str:
    """Return why the proposed command may not be worth measuring; empty if there is no such reason."""
    run = tried_command.run
    if tried_command.is_foreign:
        return _FOREIGN_REMARK.format(run.command)
    if not tried_command.did_work:
        printed_text = "its usage" if tried_command.prints_usage else "its name or version"
        return _ONLY_USAGE_REMARK.format(
            run.command, printed_text, run.command.removesuffix(" --version").removesuffix(" --help")
        )
    if run.stand_in_file:
        # A larger input is made of copies of the file.
        is_copied = run.stand_in_file not in run.command
        return _STAND_IN_REMARK.format(f"copies of {run.stand_in_file}" if is_copied else run.stand_in_file)
    gets_no_input = tried_command.has_no_work and not tried_command.only_imports
    return _NO_INPUT_REMARK.format(run.command) if gets_no_input else ""


def _suggest_work(run: "RunProposal") -> str:
    """Return how a command that does little more than start gets work: a test of a library needs a driver instead."""
    from runner.cli.init_remedies import DRIVER_HINT

    if run.load:
        return _LOAD_HINT
    return f"{_DO_WORK_HINT}; or, {DRIVER_HINT.format('')}" if run.is_test else _DO_WORK_HINT


def _describe_rejected_commands(choice: "BuildAndRunChoice") -> list[str]:
    """Return remarks on promising commands that failed or took too long; none if the chosen one is promising itself.

    A promising command probably does the work that users wait for, as a benchmark does.
    """
    chosen_command = choice.tried_command
    if chosen_command.did_work and chosen_command.run.is_promising:
        return []
    # Failures with an input file do not count, because it was only a guess that the program reads this file. A server
    # that could not be loaded has a remark of its own.
    promising_failures = [
        tried_command
        for tried_command in choice.failures
        if tried_command.run.is_promising and not (tried_command.run.input_file or tried_command.run.is_server)
    ]
    failed_commands = [
        tried_command for tried_command in promising_failures if tried_command.run.command != chosen_command.run.command
    ]
    return [_describe_rejected_command(tried_command) for tried_command in failed_commands]


def _describe_rejected_command(tried_command: "TriedCommand") -> str:
    """Return why a command was not measured, and how to make it measurable."""
    from runner.adoption.printed_text import find_missing_module

    module, _ = find_missing_module(tried_command.problem)
    if module and "venv/bin/python " in tried_command.run.command:
        return _MISSING_MODULE_REMARK.format(tried_command.run.command, module)
    return _FAILED_REMARK.format(tried_command.problem)


def _try_gate(
    repository: "Repository", revision: "Revision", workload: "Workload", settings: "Settings"
) -> "GateTrial":
    """Build in the gate's sandbox and build store; print and return the outcome."""
    from runner.adoption.gate_trial import try_gate_build
    from runner.contract.code_trust import CodeOrigin
    from runner.measuring.preflight import set_up_workbench

    def make_builder() -> "Builder":
        """Return a builder like the gate's; raise if this host cannot run a sandbox."""
        return set_up_workbench(settings, examine_host=False, sandboxed=True, origin=CodeOrigin.PULL_REQUEST).builder

    with show_activity("building in the gate's sandbox"):
        trial = try_gate_build(repository, revision, workload, make_builder)
    if trial.problem:
        if trial.is_untried:
            print_message(f"the build in the gate's sandbox could not be tried: {trial.problem}")
        else:
            print_message(f"the workload does not build in the gate's sandbox: {trial.problem}")
        for line in trial.log.splitlines()[-_MAX_LOG_LINES:]:
            print_message(f"    {line[:_MAX_LOG_LINE_CHARACTERS]}")
    elif trial.seconds:
        print_message(f"built in the gate's sandbox too, in {trial.seconds:.1f} s")
    return trial


def _list_gate_remarks(gate: "GateTrial", ci_file: "CiFile | None", download_command: str) -> list[str]:
    """Return remarks on what the host of the gate needs.

    Parameters
    ----------
    ci_file
        The file of the gate; None if the user wants none.
    download_command
        The command that downloads the packages for pip; empty if pip installs nothing.
    """
    from runner.subject.sandbox_needs import NO_NETWORK

    if gate.problem:
        remark = _GATE_UNTRIED_REMARK if gate.is_untried else _GATE_FAILS_REMARK
        remarks = [remark.format(gate.problem)]
        if download_command and NO_NETWORK in gate.problem:
            remarks.append(f"This command downloads the packages that pip installs: `{download_command}`")
        return remarks
    if not gate.readable:
        return []
    setting = f"FAULTWATCH_SANDBOX_READ={':'.join(gate.readable)}"
    setting_remark = f"set {setting}"
    if ci_file and "FAULTWATCH_SANDBOX_READ" in ci_file.text:
        setting_remark = f"{ci_file.path} sets {setting}"
    return [_GATE_READS_REMARK.format(", ".join(gate.readable), setting_remark)]


def _ask_ci(questions: Questions, default: str) -> str:
    """Ask which CI system runs the gate; return its name, or the name that stands for no CI."""
    ci_systems = list(dict.fromkeys([default, *CI_SYSTEMS, NO_CI]))
    return ci_systems[questions.choose("Which CI system should run the gate?", ci_systems)]


def _write_workload(top: Path, text: str, questions: Questions, *, replace: bool) -> list[str]:
    """Write the workload file and its schema; return the written paths.

    Parameters
    ----------
    replace
        Whether to replace an existing workload file without asking, because the user has already agreed.
    """
    from runner.adoption.ci_files import CiFile
    from runner.adoption.workload_text import SCHEMA_PATH
    from runner.schemas import read_schema

    written_files = _write_file(top, CiFile(WORKLOAD_FILE, text), questions, replace=replace)
    return written_files + _write_file(top, CiFile(SCHEMA_PATH, read_schema("workload")), questions)


def _write_ci_file(top: Path, ci_file: "CiFile", questions: Questions) -> list[str]:
    """Write the file of the gate, and the second file that some CI systems need; return the written paths."""
    written_files = _write_file(top, ci_file, questions)
    if ci_file.second:
        written_files += _write_file(top, ci_file.second, questions)
    return written_files


def _write_file(top: Path, file: "CiFile", questions: Questions, *, replace: bool = False) -> list[str]:
    """Write a file, unless the user wants to keep an existing one; return the paths that were written.

    Parameters
    ----------
    replace
        Whether to replace an existing file without asking.
    """
    from runner.adoption.new_file import has_other_content, write_file

    differs = not replace and has_other_content(top, file.path, file.text)
    if differs and not questions.confirm(f"{file.path} exists. Replace it?", default=False):
        print_message(f"{file.path} already exists and was left unchanged")
        return []
    write_file(top, file.path, file.text, executable=file.executable)
    return [file.path]


def _get_work_tree(repository: "Repository") -> Path:
    """Return the work tree of a repository; raise with a remedy if it has none."""
    try:
        return repository.get_work_tree()
    except FaultwatchError:
        message = f"{repository.path} has no work tree to write files to"
        raise FaultwatchError(message, "pass a clone with a work tree") from None


def _get_remote(repository: Any) -> str:
    """Return the address of the remote ``origin``; empty if there is none."""
    try:
        return str(repository.git("remote", "get-url", "origin")).strip()
    except FaultwatchError:
        return ""


def _detect_branch(repository: "Repository") -> str:
    """Return the branch into which changes are merged, or ``main`` if the clone does not show it."""
    for reference in ("refs/remotes/origin/HEAD", "HEAD"):
        try:
            name = repository.git("symbolic-ref", "--short", reference).strip().removeprefix("origin/")
        except FaultwatchError:
            continue
        # A name with other characters cannot be written into a CI file.
        if name and all(char.isalnum() or char in "._/+-" for char in name) and name.isascii():
            return str(name)
    return "main"


def _assess_exactness(
    report: "Report", trial_counts: tuple[int, ...], tried_settings: tuple[str, ...] = ()
) -> "Exactness | None":
    """Return whether the count of a case is exact, and how much it varies; None if it could not be measured.

    Parameters
    ----------
    trial_counts
        The counts of the case's trial. They are considered too, because a few samples may agree by chance.
    tried_settings
        What was tried in vain to make the count repeat, and is not recommended.
    """
    from runner.adoption.exactness import assess_exactness
    from runner.adoption.first_measurement import FAULTS
    from runner.contract.level import compute_median

    counts = report.list_values(FAULTS)
    if not counts:
        return None
    seconds = compute_median(report.list_values("elapsed")) or 0
    is_server = any(sample.windows for sample in report.samples)
    return assess_exactness(
        (*trial_counts, *counts),
        report.environment.settings,
        float(seconds),
        is_server=is_server,
        tried_settings=tried_settings,
    )


def _build_document(
    top: Path,
    workload_file: Path,
    written_files: list[str],
    reports: "list[Report]",
    trial_counts: tuple[int, ...],
    gate: "GateTrial",
) -> dict[str, Any]:
    """Return the result of ``init`` in the form that ``--json`` prints.

    Parameters
    ----------
    trial_counts
        As in :func:`_assess_exactness`.
    """
    exactness_by_report = [_assess_exactness(report, trial_counts) for report in reports]
    are_exact = [None if exactness is None else exactness.exact for exactness in exactness_by_report]
    return {
        "repository": str(top),
        "workload": str(workload_file),
        "written": written_files,
        "gate": {"readable": list(gate.readable), "problem": gate.problem},
        "exact": are_exact,
        "reports": [report.model_dump(mode="json") for report in reports],
    }


def _format_workload_argument(file: Path, top: Path) -> list[str]:
    """Return the WORKLOAD argument for a workload file; empty for the file at the top, which is the default."""
    if file.parent == top:
        return []
    current_folder = Path.cwd()
    return [shlex.quote(str(file.relative_to(current_folder) if file.is_relative_to(current_folder) else file))]


def _select_last_commits(repository: Any) -> list[str]:
    """Return the range of the last ten commits, or of all but the first one; empty if there is only one commit."""
    max_count = _MAX_SUGGESTED_COMMITS + 1  # includes the commit after which the range begins
    commits = repository.git("rev-list", "--count", "--first-parent", f"--max-count={max_count}", "HEAD")
    n_ancestors = int(commits) - 1
    return [f"HEAD~{n_ancestors}..HEAD"] if n_ancestors else []


def _show_result(
    reports: "list[Report]",
    trial_counts: tuple[int, ...],
    tried_settings: tuple[str, ...],
    written_files: list[str],
    remarks: list[str],
    ci_file: "CiFile | None",
    history_arguments: str,
) -> None:
    """Print the counts, whether they repeat, the remarks, the written files, and what to do next.

    Parameters
    ----------
    trial_counts, tried_settings
        As in :func:`_assess_exactness`.
    ci_file
        The file for the CI system; None if none was requested.
    history_arguments
        The arguments of the next command, ``faultwatch history``.
    """
    from runner.adoption.duration_estimate import describe_slowness
    from runner.cli.escape_for_terminals import strip_escape_sequences
    from runner.cli.report_tables import show_reports

    show_reports(reports)
    for report in reports:
        exactness = _assess_exactness(report, trial_counts, tried_settings)
        if exactness:
            prefix = f"{report.case.name}: " if len(reports) > 1 else ""
            click.echo(strip_escape_sequences(f"{prefix}{exactness.sentence}"))
    max_seconds = max((max(report.list_values("elapsed"), default=0.0) for report in reports), default=0.0)
    is_server = any(sample.windows for report in reports for sample in report.samples)
    slowness = describe_slowness(max_seconds, len(reports), is_server=is_server)
    for remark in (slowness, *remarks):
        if remark:
            click.echo(f"  → {strip_escape_sequences(remark)}")
    if written_files:
        click.echo(strip_escape_sequences(f"\nWritten: {', '.join(written_files)}"))
    if ci_file and ci_file.path in written_files and ci_file.remark:
        click.echo(f"  → {strip_escape_sequences(ci_file.remark)}")
    click.echo(f"Next: `faultwatch history {strip_escape_sequences(history_arguments)}` measures the last commits, and")
    click.echo("      `faultwatch-service serve` shows the results.")
