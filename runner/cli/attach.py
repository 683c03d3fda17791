"""``faultwatch attach``: observe a running process, and report where its page faults come from."""

import importlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.arguments import Duration
from runner.cli.options import apply_options, result_options
from runner.cli.result_output import output_result
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.attach.live_program import LiveProgram
    from runner.attach.observation_store import StoredObservation
    from runner.attach.observe import Outcome
    from runner.attach.process_choice import ProcessChoice
    from runner.contract.diagnosis import Diagnosis
    from runner.contract.profile import Profile
    from runner.profile.perf_record_options import CallGraph
    from runner.profile.permissions import RecordingPermissions
    from runner.settings import Settings
    from runner.system.tree import Tree


_MAX_PID = 2**22
"""The largest process id that Linux assigns."""
_READING_NICENESS = 10
"""The niceness of this command while it reads recordings on a busy host: this takes seconds."""
_MIN_OBSERVED_SECONDS = 1.0
_MAX_TITLE_CHARACTERS = 1000
"""How many characters of the observed process's command line are stored."""


class Percent(click.ParamType[float]):
    """A share in percent, such as ``1%`` or ``0.5``, which is converted to a fraction."""

    name = "percent"

    def convert(self, value: object, parameter: click.Parameter | None, context: click.Context | None) -> float:
        """Return the fraction."""
        if isinstance(value, float):  # click may pass a value that is converted already
            return value
        try:
            share = float(str(value).strip().removesuffix("%").strip()) / 100
        except ValueError:
            share = -1.0  # out of range, so that the next check refuses it
        if not 0 < share <= 1:
            self.fail(f"{value!r} is not a share: write a number above 0 and up to 100, as in 1%.", parameter, context)
        return share


@click.command(name="attach")
@click.argument("pid", type=click.IntRange(1, _MAX_PID), required=False)
@apply_options(
    click.option(
        "--name",
        metavar="NAME",
        help="Observe the process tree whose program or script has this name; there must be only one.",
    ),
    click.option("--unit", metavar="NAME", help="Observe the processes of a systemd unit."),
    click.option("--cgroup", "group", metavar="PATH", help="Observe the processes of a control group."),
    click.option(
        "--container", metavar="NAME", help="Observe the processes of a container of podman, docker or nerdctl."
    ),
    click.option(
        "--for",
        "seconds",
        type=Duration(),
        default="30s",
        show_default=True,
        metavar="TIME",
        help="How long to observe, such as 90s or 5m. Ctrl-C stops early and shows the results so far.",
    ),
    click.option(
        "--most-overhead",
        "max_overhead",
        type=Percent(),
        default="1%",
        show_default=True,
        metavar="PERCENT",
        help="The largest share of the observed CPU time that recording may cost.",
    ),
    click.option("--before", metavar="ID", help="Compare with the earlier observation that has this id."),
    click.option(
        "--flame-graphs/--no-flame-graphs", "draws_flames", default=True, show_default=True, help="Draw flame graphs."
    ),
    result_options,
)
def command(
    pid: int | None,
    name: str | None,
    unit: str | None,
    group: str | None,
    container: str | None,
    seconds: float,
    max_overhead: float,
    before: str | None,
    draws_flames: bool,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Observe a running process, given its PID, and show where its page faults come from, and why.

    This needs no repository, no build and no service. A line per second shows the faults; at the end, the profile, the
    diagnosis and suitable remedies are printed. Nothing in the process is changed.
    """
    from runner.system.tree import Tree

    tree = Tree()
    _import_modules_in_idle_time(tree)
    from runner.attach.attach_permission import describe_limits, read_observer, require_permission
    from runner.attach.live_program import read_live_program
    from runner.attach.live_remedies import fit_diagnosis
    from runner.attach.missing_debug_packages import describe_missing_names, find_debug_package
    from runner.attach.observation_store import StoredObservation, load_observation, store_observation
    from runner.attach.observe import observe_processes
    from runner.attach.process_table import find_busiest, read_process_table
    from runner.cli.attach_lines import (
        describe_outcome,
        describe_unknown_past,
        format_heading,
        format_live_line,
        get_now,
    )
    from runner.cli.terminal import print_message
    from runner.profile.permissions import detect_recording_permissions
    from runner.settings import load_settings

    # Choose the processes, and check that this user may observe them.
    settings = load_settings()
    folder = settings.home / "observations"
    earlier_observation = load_observation(folder, before) if before else None
    choice = _choose_processes_from_arguments(pid, name, unit, group, container)
    observer = read_observer(tree)
    require_permission(tree, choice.root, observer)
    # Observe them. The properties of the program are read from the busiest process.
    table = read_process_table(tree)
    chosen_processes = {member: table[member] for member in choice.pids if member in table}
    busiest_pid = find_busiest(tree, chosen_processes, choice.root.pid)
    program = read_live_program(chosen_processes.get(busiest_pid, choice.root))
    print_message(format_heading(choice, program, get_now()))
    permissions = detect_recording_permissions(tree, root=observer.may_record)
    outcome = observe_processes(
        choice,
        program,
        host=settings.host,
        seconds=max(_MIN_OBSERVED_SECONDS, seconds),
        max_overhead=max_overhead,
        call_graph=_choose_call_graph(program),
        permissions=permissions,
        show=lambda line: print_message(format_live_line(line)),
    )
    # Read the recordings, diagnose and store them.
    profile = _build_profile(tree, outcome, permissions)
    remarks = [
        *describe_limits(permissions, is_root=observer.uid == 0),
        *describe_missing_names(profile, program, find_debug_package),
        describe_unknown_past(program, outcome.observation.started_at),
    ]
    profile = profile.model_copy(update={"remarks": (*profile.remarks, *(text for text in remarks if text))})
    diagnosis = _diagnose_profile(profile, earlier_observation.profile if earlier_observation else None, settings)
    if diagnosis:
        diagnosis = fit_diagnosis(diagnosis, program, profile.anatomy)
    stored_observation = store_observation(
        folder,
        StoredObservation(
            observation_id=_make_id(profile),
            title=choice.root.title[:_MAX_TITLE_CHARACTERS],
            profile=profile,
            diagnosis=diagnosis,
        ),
    )

    def show_observation() -> None:
        """Print what was observed, and how to compare a later observation with it."""
        _print_lines(describe_outcome(outcome))
        _show_result(stored_observation, earlier_observation, program=program, draws_flames=draws_flames)
        _show_stored_place(stored_observation, folder)

    output_result(
        stored_observation.model_dump(mode="json"), as_json=as_json, output_file=output_file, show=show_observation
    )


def _print_lines(lines: Iterable[str]) -> None:
    """Print lines of text, in which nothing is highlighted."""
    from runner.cli.console import make_console
    from runner.cli.formatting import escape_text

    console = make_console()
    for line in lines:
        console.print(escape_text(line), highlight=False)


def _show_stored_place(stored_observation: "StoredObservation", folder: Path) -> None:
    """Print where an observation is stored, and how to compare a later one with it."""
    from runner.cli.console import make_console
    from runner.cli.formatting import escape_text

    console = make_console()
    console.print(
        f"\nStored as [bold]{stored_observation.observation_id}[/], with its stacks: "
        f"{escape_text(str(folder / stored_observation.observation_id))}",
        highlight=False,
    )
    console.print(
        f"[dim]To see the effect of a change: faultwatch attach PID --before {stored_observation.observation_id}[/]",
        highlight=False,
        soft_wrap=True,
    )


def _choose_processes_from_arguments(
    pid: int | None, name: str | None, unit: str | None, group: str | None, container: str | None
) -> "ProcessChoice":
    """Return the processes that the arguments name."""
    from runner.attach import process_choice
    from runner.attach.containers import find_container
    from runner.attach.process_table import read_process_table
    from runner.system.tree import Tree

    if sum(word is not None for word in (pid, name, unit, group, container)) != 1:
        raise click.UsageError(
            "Specify what to observe by exactly one of these: PID, --name, --unit, --cgroup, --container."
        )
    table = read_process_table(Tree())
    if pid is not None:
        return process_choice.choose_process_by_pid(table, pid)
    if name is not None:
        return process_choice.choose_processes_by_name(table, name, own_pid=os.getpid())
    if unit is not None:
        return process_choice.choose_processes_by_unit(table, unit)
    if group is not None:
        return process_choice.choose_processes_by_group(table, group)
    assert container is not None  # exactly one of the five was given
    return find_container(table, container)


def _choose_call_graph(program: "LiveProgram") -> "CallGraph":
    """Return how to unwind the stacks of a program.

    Go binaries, and code that a runtime compiles while it runs, have no unwind tables that perf can read, so their
    stacks can only be unwound by frame pointers.
    """
    from runner.profile.stack_unwinding import choose_call_graph

    if program.runtime in {"go", "java", "node", "dotnet"}:
        return "fp"
    return choose_call_graph(program.get_outside_path(program.file))


def _import_modules_in_idle_time(tree: "Tree") -> None:
    """Import the modules for an observation, so that this takes no time from the process.

    It takes a quarter of a second of CPU time.
    """
    from runner.process_state.idle_time import use_idle_time

    with use_idle_time(tree):
        importlib.import_module("runner.attach.observed_profile")


def _build_profile(tree: "Tree", outcome: "Outcome", permissions: "RecordingPermissions") -> "Profile":
    """Build the profile from the recordings of an observation, which are then discarded.

    From then on, this thread has a low priority.

    Raises
    ------
    FaultwatchError
        Nothing could be recorded; the message says why.
    """
    from runner.attach.observed_profile import ProfileBuilder
    from runner.cli.activity import show_activity
    from runner.process_state.idle_time import switch_to_idle_time
    from runner.process_state.niceness import lower_priority

    recordings = outcome.recordings
    if not switch_to_idle_time(tree):
        lower_priority(0, _READING_NICENESS)  # 0 is this thread
    try:
        has_recordings = bool(recordings.addresses or recordings.stacks)
        if not has_recordings and outcome.reason:
            raise FaultwatchError(
                f"{outcome.reason} before anything was recorded",
                "perf takes a second or two to attach, so the observation must last longer than that",
            )
        if not has_recordings and recordings.problems:
            raise FaultwatchError(recordings.problems[0], "`faultwatch doctor` shows what keeps perf from recording")
        with show_activity("reading what was recorded"):
            return ProfileBuilder.create(outcome.observation, recordings, permissions).build()
    finally:
        recordings.close()


def _diagnose_profile(profile: "Profile", before: "Profile | None", settings: "Settings") -> "Diagnosis | None":
    """Return the diagnosis by the configured service or, without one, by its rules on this host; None if this fails."""
    from runner.attach.live_recorder import make_guard
    from runner.cli.terminal import print_warning
    from runner.contract.diagnosis import DiagnosisRequest
    from runner.reporting.local_diagnosis import diagnose_locally

    request = DiagnosisRequest(profile=profile, before=before)
    try:
        if settings.url:
            from runner.reporting.embedded_service import connect_to_service  # Its HTTP library takes long to import.

            with connect_to_service(settings) as service:
                return service.diagnose(request)
        return diagnose_locally(request, make_guard())
    except FaultwatchError as error:
        print_warning(f"faultwatch: {error.what}")
        return None


def _make_id(profile: "Profile") -> str:
    from runner.attach.observation_store import make_observation_id

    return make_observation_id(profile.subject, profile.started_at)


def _show_result(
    stored_observation: "StoredObservation",
    earlier_observation: "StoredObservation | None",
    *,
    program: "LiveProgram",
    draws_flames: bool,
) -> None:
    """Print the diagnosis, the profile and the flame graphs."""
    from runner.attach.live_remedies import describe_trial
    from runner.cli.console import make_console
    from runner.cli.flame_text import draw_flame
    from runner.cli.formatting import escape_text
    from runner.cli.profile_difference_tables import show_difference
    from runner.cli.profile_tables import show_anatomy_and_stacks, show_diagnosis

    console = make_console()
    profile = stored_observation.profile
    if stored_observation.diagnosis:
        show_diagnosis(stored_observation.diagnosis, lambda words: describe_trial(parse_settings(words), program))
    if earlier_observation:
        show_difference(earlier_observation.profile, profile)
    show_anatomy_and_stacks(profile)
    if not draws_flames:
        return
    for stacks in profile.stack_profiles:
        if not stacks.total:
            continue  # no stacks of this kind were recorded
        console.print(f"\n[bold]Flame graph of {stacks.kind.value}[/]")
        for line in draw_flame(profile, stacks):
            console.print(f"  {escape_text(line)}", highlight=False, no_wrap=True, overflow="ellipsis")


def parse_settings(words: Sequence[str]) -> dict[str, str]:
    """Return the settings of a remedy from the words of ``faultwatch try``: ``--with NAME=VALUE``."""
    pairs = (word.partition("=") for word in words if word != "--with")
    return {name: value for name, _, value in pairs}
