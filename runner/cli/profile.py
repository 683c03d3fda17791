"""``faultwatch profile``: show where a case's faults, CPU time and waiting come from, and name the cause."""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.activity import Activity, show_activity
from runner.cli.arguments import add_workload_and_range, is_range, parse_range
from runner.cli.measuring_setup import create_host_turn, find_target, prepare_workbench
from runner.cli.next_command import TypedTarget
from runner.cli.options import (
    apply_options,
    choice_options,
    env_option,
    make_revision_option,
    make_sandbox_option,
    repo_option,
    result_options,
)
from runner.cli.result_output import output_result
from runner.errors import FaultwatchError
from runner.measuring.preflight import is_sandbox_needed
from runner.settings import Settings, load_settings
from runner.subject.check_clone_before_turn import find_complete_revision
from runner.subject.subject_registry import register_subject
from runner.workload.case_choice import choose_single_case

if TYPE_CHECKING:
    from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
    from runner.contract.profile import Profile
    from runner.profile.perf_record_options import CallGraph
    from runner.reporting.client import Service
    from runner.subject.repository import Repository
    from runner.workload import Workload

_STEPS_PER_PROFILE = 4
"""The number of slow steps of a profile: build, count, record faults, record CPU time and waiting."""
_FORMATS = {"folded": ".folded", "speedscope": ".speedscope.json", "pprof": ".pb.gz"}


@click.command(name="profile")
@apply_options(
    add_workload_and_range(may_be_commit=True),
    repo_option,
    make_revision_option("Without a RANGE: the commit to profile."),
    choice_options,
    env_option,
    make_sandbox_option(),
    click.option(
        "--call-graph",
        type=click.Choice(["dwarf", "fp", "lbr"]),
        help="How to unwind stacks. Default: what the program supports; fp for Go, Java, Node and .NET.",
    ),
    click.option(
        "--stacks",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Write the stacks to this folder as folded text, and in the formats of speedscope and pprof.",
    ),
    click.option("--upload/--no-upload", default=True, show_default=True, help="Store the profile in the service."),
    result_options,
)
def command(
    workload_name: str | None,
    commit_range: str | None,
    repo: str | None,
    revision: str,
    parameter_choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    sandboxed: bool | None,
    call_graph: "CallGraph | None",
    stacks: Path | None,
    upload: bool,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Profile where the page faults, CPU time and waiting of one case of a WORKLOAD come from, and name the cause.

    With a RANGE, BASE..HEAD, both ends are profiled, and the growth between them is shown. With a single commit, only
    that commit is profiled. WORKLOAD is a workload.toml, its folder, or the name of a shipped workload. A profile adds
    no samples to the history. The service stores it and shows its flame graphs; if the service does not answer, the
    profile is kept on disk and sent later.
    """
    from runner.contract.diagnosis import DiagnosisRequest
    from runner.profile.revision_profiler import Profiler
    from runner.reporting.embedded_service import connect_to_service
    from runner.subject.source_change import read_source_change

    # Check the arguments.
    base, head = _parse_commits(commit_range, revision)
    settings = load_settings()
    workload, repository = find_target(settings, workload_name, repo)
    case = choose_single_case(workload, parameter_choices, case_names)
    ends = [find_complete_revision(repository, workload, end).commit for end in (base, head) if end]
    is_sandboxed = is_sandbox_needed(sandboxed, repository, settings)
    _require_writable_folder(stacks)
    # Profile each commit.
    with create_host_turn(settings) as turn:
        workbench = prepare_workbench(settings, variables, turn=turn, sandboxed=is_sandboxed)
        profiler = Profiler(repository, workload, case, workbench.bench, workbench.builder, call_graph)
        with show_activity("building") as activity:
            steps = _Steps(activity, len(ends))
            profiles = [profiler.profile(end, steps) for end in ends]
            base_profile = profiles[0] if base else None
            if base_profile is not None:
                profiles[-1] = read_source_change(repository, *ends).add_to_profile(profiles[-1], base_profile)
            profile = profiles[-1]
    if stacks:
        _write_stacks_of_sides(profile, base_profile, stacks)
    # Send the profiles, and request the diagnosis.
    with connect_to_service(settings) as service:
        profiles_to_send = profiles if upload else []
        refusals = _send_profiles(profiles_to_send, service, settings, repository, workload)
        diagnosis, failure = _request_diagnosis(service, DiagnosisRequest.from_profiles(base_profile, profile))
    documents = {"profile": profile, "before": base_profile, "diagnosis": diagnosis}

    def suggest_trial(trial_settings: Sequence[str]) -> str:
        """Return the command that tries settings of a remedy at the profiled commit."""
        target = TypedTarget(workload.name, workload_name, repo, variables)
        return target.suggest("try", "", case.name, ("--revision", head, *trial_settings))

    output_result(
        {name: part.model_dump(mode="json") for name, part in documents.items() if part},
        as_json=as_json,
        output_file=output_file,
        show=partial(_show_profile_and_diagnosis, profile, base_profile, diagnosis, suggest_trial),
    )
    _raise_if_refused(refusals)
    if failure is not None:
        raise failure


def _show_profile_and_diagnosis(
    profile: "Profile",
    base_profile: "Profile | None",
    diagnosis: "Diagnosis | None",
    suggest_trial: Callable[[Sequence[str]], str],
) -> None:
    """Print the diagnosis, and then the profile, with its difference from the earlier one if there is one."""
    from runner.cli.profile_difference_tables import show_causes, show_difference
    from runner.cli.profile_tables import show_diagnosis, show_profile

    if diagnosis is not None:
        if diagnosis.difference and base_profile:
            seconds = base_profile.find_value("task-clock"), profile.find_value("task-clock")
            show_causes(diagnosis.difference, seconds)
        show_diagnosis(diagnosis, suggest_trial)
    show_profile(profile)
    if base_profile:
        show_difference(base_profile, profile)


def _send_profiles(
    profiles: "Sequence[Profile]",
    service: "Service",
    settings: Settings,
    repository: "Repository",
    workload: "Workload",
) -> list[str]:
    """Send profiles to the service, if there are any; return why it refused some."""
    from runner.reporting.outbox import Outbox
    from runner.reporting.spool import Spool

    if not profiles:
        return []
    register_subject(settings, repository, workload)
    outbox = Outbox(Spool(settings.spool), service.send)
    for profile in profiles:
        outbox.post(profile)
    return outbox.refusals


def _request_diagnosis(
    service: "Service", request: "DiagnosisRequest"
) -> "tuple[Diagnosis, None] | tuple[None, FaultwatchError]":
    """Return the diagnosis of a profile, or why there is none: the profile is shown nevertheless."""
    try:
        return service.diagnose(request), None
    except FaultwatchError as failure:
        return None, failure


class _Steps:
    """Shows the progress of profiles, each of which consists of a build, a count and two recordings."""

    def __init__(self, activity: Activity, n_profiles: int) -> None:
        self._activity = activity
        self._total_steps = _STEPS_PER_PROFILE * n_profiles
        self._n_started = 0

    def __call__(self, text: str) -> None:
        """Show the step that starts; the step before it, if any, has ended."""
        self._activity(text)
        self._n_started += 1
        if self._n_started > 1:
            self._activity.advance()
        # At least this step remains, even if there are more steps than expected.
        self._activity.set_remaining_steps(max(1, self._total_steps - self._n_started + 1))


def _raise_if_refused(reasons: list[str]) -> None:
    """Raise with the first reason if the service refused a profile."""
    if reasons:
        raise FaultwatchError(reasons[0], "a refused profile is set aside; see `faultwatch spool`")


def _parse_commits(commit_range: str | None, revision: str) -> tuple[str | None, str]:
    """Return the commits to profile: the earlier one, if any, and the later one."""
    if commit_range is None:
        return None, revision
    if revision != "HEAD":
        raise click.UsageError("RANGE and --revision both name commits: pass only one of them.")
    return parse_range(commit_range) if is_range(commit_range) else (None, commit_range)


def _require_writable_folder(folder: Path | None) -> None:
    """Create the folder of the stacks, if any; refuse one that cannot be written, before anything is profiled."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass  # creating the file is the check
    except OSError as error:
        raise FaultwatchError(
            f"{folder} cannot be written: {error.strerror}", "choose another folder with --stacks"
        ) from None


def _write_stacks_of_sides(profile: "Profile", base_profile: "Profile | None", folder: Path) -> None:
    """Write the stacks of a profile into a folder; those of two profiles into its folders ``before`` and ``after``."""
    if base_profile is None:
        _write_stacks(profile, folder)
        return
    _write_stacks(profile, folder / "after")
    _write_stacks(base_profile, folder / "before")


def _write_stacks(profile: "Profile", folder: Path) -> None:
    """Write each stack profile into a folder, in the formats of other viewers.

    Raises
    ------
    FaultwatchError
        The folder cannot be written.
    """
    from runner.contract import profile_formats

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stacks in profile.stack_profiles:
            for format_name, suffix in _FORMATS.items():
                (folder / f"{stacks.kind}{suffix}").write_bytes(
                    profile_formats.format_stacks(profile, stacks, format_name)
                )
    except OSError as error:
        raise FaultwatchError(
            f"{folder} cannot be written: {error.strerror}", "choose another folder with --stacks"
        ) from None
