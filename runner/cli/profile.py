"""``faultwatch profile``: where the faults, the CPU time and the waiting of a case come from, and what that means."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.common import (
    activity,
    env_option,
    find_workload,
    json_option,
    options,
    repo_option,
    sandbox_option,
    set_option,
    wants_sandbox,
    workbench,
)
from runner.errors import FaultwatchError
from runner.known import remember
from runner.settings import load_settings
from runner.subject.repository import open_repository
from runner.trial import Subject, Trial
from runner.workload import cases

if TYPE_CHECKING:
    from runner.contract.profile import Profile
    from runner.profile.plan import CallGraph

_FORMATS = {"folded": ".folded", "speedscope": ".speedscope.json", "pprof": ".pb.gz"}


@click.command(name="profile")
@options(
    click.argument("workload_name", metavar="WORKLOAD"),
    repo_option,
    click.option("--revision", default="HEAD", show_default=True, help="The commit to profile."),
    set_option,
    env_option,
    sandbox_option,
    click.option(
        "--call-graph",
        type=click.Choice(["dwarf", "fp", "lbr"]),
        help="How stacks are found. Default: by what the program's file allows.",
    ),
    click.option(
        "--output",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Write the stacks there: folded, for speedscope and for pprof.",
    ),
    click.option("--upload/--no-upload", default=True, show_default=True, help="Store the profile in the service."),
    json_option,
)
def command(
    workload_name: str,
    repo: str | None,
    revision: str,
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    confined: bool | None,
    call_graph: "CallGraph | None",
    output: Path | None,
    upload: bool,
    as_json: bool,
) -> None:
    """Profile one case of a WORKLOAD: its page faults, its CPU time, its waiting; and name the cause.

    WORKLOAD is a workload.toml, its folder, or the name of one that comes along. Nothing of it counts as a sample. The
    service keeps the profile and shows its flame graphs; where it does not answer, the profile waits on disk.
    """
    from runner.contract.diagnosis import DiagnosisRequest
    from runner.embedded import connect
    from runner.outbox import Outbox
    from runner.perf.session import ExecutionFailure
    from runner.profile.collect import collect
    from runner.spool import Spool
    from runner.subject.build import BuildFailure

    workload = find_workload(workload_name)
    settings = load_settings()
    repository = open_repository(repo or str(workload.path.parent), settings.clones)
    place = workbench(settings, variables, confined=wants_sandbox(confined, repository, settings))
    chosen = cases(workload, choices)
    if len(chosen) != 1:
        raise FaultwatchError(
            f"a profile is of one case, and {len(chosen)} were chosen",
            f"choose one with --set NAME=VALUE; the first is {chosen[0].name}",
        )
    commit = repository.revision(revision)
    with activity(f"building {commit.commit[:10]}") as say:
        try:
            tree, build = place.builder.build(repository, commit.commit, workload)
            trial = Trial(workload, Subject(repository.name, commit, chosen[0], build), place.bench, tree)
            if trial.obstacle:
                raise FaultwatchError(f"{chosen[0].name} cannot be profiled here: {trial.obstacle}")
            profile = collect(trial, call_graph=call_graph, progress=say)
        except BuildFailure as failure:
            raise FaultwatchError(f"{commit.commit[:10]} does not build: {failure.message}") from None
        except ExecutionFailure as failure:
            raise FaultwatchError(f"{chosen[0].name}: {failure.message}") from None
    if output:
        _write(profile, output)
    with connect(settings) as service:
        if upload:
            remember(settings, repository, workload)
            outbox = Outbox(Spool(settings.spool), service.send)
            outbox.post(profile)
        diagnosis = service.diagnose(DiagnosisRequest(profile=profile))
    if as_json:
        click.echo(f'{{"profile": {profile.model_dump_json()}, "diagnosis": {diagnosis.model_dump_json()}}}')
    else:
        from runner.cli.profile_tables import show_diagnosis, show_profile

        show_profile(profile)
        show_diagnosis(diagnosis)


def _write(profile: "Profile", folder: Path) -> None:
    from runner.contract import profile_formats

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stacks in profile.stack_profiles:
            for form, suffix in _FORMATS.items():
                (folder / f"{stacks.kind}{suffix}").write_bytes(profile_formats.write(profile, stacks, form))
    except OSError as error:
        raise FaultwatchError(f"{folder} cannot be written: {error.strerror}") from None
