"""``faultwatch profile``: show where a case's faults, CPU time and waiting come from, and name the cause."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.options import env_option, json_option, options, repo_option, sandbox_option, set_option
from runner.cli.terminal import activity
from runner.cli.workbench import host_turn, prepare_workbench
from runner.errors import FaultwatchError
from runner.measuring.preflight import wants_sandbox
from runner.settings import load_settings
from runner.subject.lookup import repository_of
from runner.subject.registry import register_subject
from runner.workload import cases
from runner.workload.lookup import find_workload

if TYPE_CHECKING:
    from runner.contract.profile import Profile
    from runner.profile.recording_plan import CallGraph

_FORMATS = {"folded": ".folded", "speedscope": ".speedscope.json", "pprof": ".pb.gz"}


@click.command(name="profile")
@options(
    click.argument("workload_name", metavar="WORKLOAD"),
    repo_option,
    click.option(
        "--revision",
        default="HEAD",
        show_default=True,
        metavar="REV|BASE..REV",
        help="The commit to profile; for a range, both ends.",
    ),
    click.option("--before", metavar="REV", help="Profile this commit too, and show what grew since."),
    set_option,
    env_option,
    sandbox_option,
    click.option(
        "--call-graph",
        type=click.Choice(["dwarf", "fp", "lbr"]),
        help="How stacks are unwound. Default: as the program file allows.",
    ),
    click.option(
        "--output",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Write the stacks to this folder: folded, for speedscope and for pprof.",
    ),
    click.option("--upload/--no-upload", default=True, show_default=True, help="Store the profile in the service."),
    json_option,
)
def command(
    workload_name: str,
    repo: str | None,
    revision: str,
    before: str | None,
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    confined: bool | None,
    call_graph: "CallGraph | None",
    output: Path | None,
    upload: bool,
    as_json: bool,
) -> None:
    """Profile the page faults, CPU time and waiting of one case of a WORKLOAD, and name the cause.

    WORKLOAD is a workload.toml, its folder, or the name of a shipped workload. Profiles are not samples. The service
    stores the profile and shows its flame graphs; if it does not answer, the profile waits on disk.
    """
    from runner.contract.diagnosis import DiagnosisRequest
    from runner.profile.profiler import Profiler
    from runner.reporting.embedded import connect
    from runner.reporting.outbox import Outbox
    from runner.reporting.spool import Spool

    workload = find_workload(workload_name)
    settings = load_settings()
    repository = repository_of(workload, repo, settings)
    chosen = cases(workload, choices)
    if len(chosen) != 1:
        raise FaultwatchError(
            f"a profile shows one case, but {len(chosen)} were chosen",
            f"choose one with --set NAME=VALUE; the first is {chosen[0].name}",
        )
    base, newest = _sides(revision, before)
    confinement = wants_sandbox(confined, repository, settings)
    with host_turn(settings) as turn:
        workbench = prepare_workbench(settings, variables, turn=turn, confined=confinement)
        profiler = Profiler(repository, workload, chosen[0], workbench.bench, workbench.builder, call_graph)
        with activity("building") as show:
            earlier = profiler.profile(base, show) if base else None
            profile = profiler.profile(newest, show)
    if output:
        _write(profile, output / "after" if earlier else output)
        if earlier:
            _write(earlier, output / "before")
    refused: list[str] = []
    with connect(settings) as service:
        if upload:
            register_subject(settings, repository, workload)
            outbox = Outbox(Spool(settings.spool), service.send)
            for document in (earlier, profile):
                if document:
                    outbox.post(document)
            refused = list(outbox.refused.values())
        diagnosis = service.diagnose(DiagnosisRequest(profile=profile, before=earlier))
    if as_json:
        parts = {"profile": profile, "before": earlier, "diagnosis": diagnosis}
        click.echo("{" + ", ".join(f'"{name}": {part.model_dump_json()}' for name, part in parts.items() if part) + "}")
        _refuse(refused)
        return
    from runner.cli.profile_difference_tables import show_difference
    from runner.cli.profile_tables import show_diagnosis, show_profile

    show_profile(profile)
    if earlier:
        show_difference(earlier, profile)
    show_diagnosis(diagnosis)
    _refuse(refused)


def _refuse(refused: list[str]) -> None:
    """Fail if the service refused a profile."""
    if refused:
        raise FaultwatchError(refused[0], "the profile is set aside; see `faultwatch spool`")


def _sides(revision: str, before: str | None) -> tuple[str | None, str]:
    """Return the commits to profile: the earlier one, if any, and the newest."""
    base, dots, newest = revision.partition("..")
    if not dots:
        return before, revision
    if before is not None:
        raise FaultwatchError(
            f"--before {before} and the range {revision} name the base twice", "leave one of them out"
        )
    return base or "HEAD", newest.lstrip(".") or "HEAD"


def _write(profile: "Profile", folder: Path) -> None:
    from runner.contract import profile_formats

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stacks in profile.stack_profiles:
            for form, suffix in _FORMATS.items():
                (folder / f"{stacks.kind}{suffix}").write_bytes(profile_formats.write(profile, stacks, form))
    except OSError as error:
        raise FaultwatchError(f"{folder} cannot be written: {error.strerror}") from None
