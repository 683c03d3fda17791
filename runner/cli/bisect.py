"""``faultwatch bisect``: which commits of a range, or which knobs, moved a metric."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import click

from runner.cli.options import env_option, json_option, options, samples_option, sandbox_option, set_option
from runner.cli.terminal import activity, terminal
from runner.cli.workbench import parse_variables, prepare_workbench
from runner.contract.knob_search import FoundKnobs, KnobSearch
from runner.contract.metrics import metric
from runner.contract.report import Case, Outcome, Report, Revision
from runner.contract.search import Found, Measure, NothingToFind, ProofState, Prove, Search
from runner.errors import FaultwatchError
from runner.measuring.preflight import wants_sandbox
from runner.reporting.spool import Spool
from runner.settings import Settings, load_settings
from runner.subject.registry import register_subject
from runner.subject.repository import Repository, open_repository
from runner.workload import Workload
from runner.workload.lookup import check_metric, find_workload, one_case

_SHOWN = {ProofState.STANDS: "proven", ProofState.FAILS: "not proven", ProofState.OPEN: "not decided"}


@click.command(name="bisect")
@options(
    click.argument("span", metavar="[GOOD..BAD]", required=False),
    click.option("--repo", metavar="PATH|URL", help="The repository under test. Default: the current folder."),
    click.option("--workload", "workload_name", metavar="PATH|NAME", help="Default: workload.toml in the repository."),
    click.option("--case", "case_name", metavar="NAME", help="One of several, as the dashboard names it."),
    click.option("--metric", "name", default="minor-faults", show_default=True, help="The metric that moved."),
    click.option("--least", default=0.0, type=click.FloatRange(0), help="Smallest difference that matters."),
    click.option(
        "--proof/--no-proof",
        "prove",
        default=True,
        help="Measure each culprit again, in turns with its parent. Default: do.",
    ),
    click.option(
        "--knobs",
        metavar="BEFORE..AFTER",
        help="Search what differs between two environments, at one revision: files of `env --json`, saved reports, or "
        "ids of runs.",
    ),
    click.option(
        "--change",
        "changes",
        multiple=True,
        metavar="NAME=BEFORE..AFTER",
        help="Search this knob too: variable.NAME, parameter.NAME, build.NAME, process.huge_pages or "
        "process.memory_limit. Repeatable.",
    ),
    click.option("--without", multiple=True, metavar="KNOB", help="Do not search this knob. Repeatable."),
    set_option,
    env_option,
    samples_option,
    sandbox_option,
    json_option,
)
def command(
    span: str | None,
    repo: str | None,
    workload_name: str | None,
    case_name: str | None,
    name: str,
    least: float,
    prove: bool,
    knobs: str | None,
    changes: tuple[str, ...],
    without: tuple[str, ...],
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    as_json: bool,
) -> None:
    """Find the commits after GOOD, up to and with BAD, that moved a metric, with as few runs as possible.

    With --knobs or --change, find the knobs instead, with one revision: HEAD, or the one that is named.

    What the service holds already is used and not measured again, so a search that was interrupted goes on where it
    was. Exit code 1 where the ends do not differ, or where a culprit could not be proven.
    """
    settings = load_settings()
    repository = open_repository(repo or ".", settings.clones)
    workload = find_workload(workload_name or str(repository.path))
    check_metric(workload, name)
    register_subject(settings, repository, workload)
    searched = _Searched(
        settings=settings,
        repository=repository,
        workload=workload,
        case=one_case(workload, choices, case_name),
        variables=variables,
        confined=wants_sandbox(confined, repository, settings),
        samples=samples,
        metric=name,
        least=least,
        as_json=as_json,
    )
    if knobs is None and not changes:
        settled = _search_commits(searched, span or "", prove=prove)
    else:
        settled = _search_knobs(searched, span or "HEAD", knobs, changes, without)
    if not settled:
        raise click.exceptions.Exit(1)


@dataclass(frozen=True, slots=True)
class _Searched:
    """What both kinds of searches need to know."""

    settings: Settings
    repository: Repository
    workload: Workload
    case: Case
    variables: tuple[str, ...]
    confined: bool
    samples: int | None
    metric: str
    least: float
    as_json: bool


def _search_commits(asked: _Searched, span: str, *, prove: bool) -> bool:
    """Search GOOD..BAD, print what was found, and return whether anything was, for certain.

    It is a job of the service like any other, so that it can be seen, paused and cancelled there.
    """
    from runner.campaigns.culprit_search import resolve_range
    from runner.cli.job import say
    from runner.cli.job_preparer import JobPreparer
    from runner.contract.job import Backend, BisectQuestion, JobDecision, JobOrder, State
    from runner.jobs import bisect_job as job_of_bisect
    from runner.jobs.claimed_job import ClaimedJob, JobResult
    from runner.jobs.job_runner import JobRunner
    from runner.reporting.embedded import connect

    good, dots, bad = span.partition("..")
    if not good or not dots or not bad or bad.startswith("."):
        raise FaultwatchError(f"{span!r} is not of the form GOOD..BAD", "name the older end first, as in v1.0..HEAD")
    first, revisions = resolve_range(asked.repository, good, bad)
    question = BisectQuestion(
        subject=asked.repository.name,
        case=asked.case.name,
        host=asked.settings.host,
        variables=parse_variables(asked.variables),
        samples=asked.samples,
        metric=asked.metric,
        good=first.commit,
        bad=revisions[-1].commit,
        least=asked.least,
        prove=prove,
    )
    found: list[Search] = []

    def search(work: ClaimedJob) -> JobResult:
        found.append(job_of_bisect.searched(work, _Teller(asked.metric)))
        return job_of_bisect.ended(found[0])

    with connect(asked.settings) as service, activity("bisecting"):
        job = service.order_job(JobOrder(question=question, backend=Backend.CALLER))
        if job.state is State.PAUSED:
            job = service.decide_job(job.id, "resume", JobDecision(reason="It was started again."))
        preparer = JobPreparer(asked.settings, str(asked.repository.path), str(asked.workload.path), asked.confined)
        JobRunner(asked.settings, service, say).run(job.id, preparer.prepare, search)
    if not found:
        return False
    if asked.as_json:
        click.echo(json.dumps(found[0].model_dump(mode="json"), indent=2))
    else:
        titles = {revision.commit: revision for revision in revisions}
        for line in _result(found[0], titles, asked.metric):
            click.echo(line)
    return _is_settled(found[0])


def _search_knobs(
    asked: _Searched, revision: str, knobs: str | None, changes: Sequence[str], without: Sequence[str]
) -> bool:
    """Search what differs between two environments, print what was found, and return whether anything was."""
    from runner.campaigns.knob_search import KnobSearcher, KnobSetting
    from runner.cli import bisect_knobs as told
    from runner.cli.env import load
    from runner.cli.formatting import escape_text
    from runner.cli.job import say
    from runner.host.lock import host_lock
    from runner.reporting.embedded import connect

    sides = [told.knobs_of(*load(side)) for side in told.ends(knobs)] if knobs else [{}, {}]
    own = told.parameters(asked.case.parameters)
    for side in sides:
        for name in own.keys() - side.keys():
            side[name] = own[name]
    for one in map(told.asked_for, changes):
        for side, value in zip(sides, (one.before, one.after), strict=True):
            side.pop(one.name, None)
            side.update({one.name: value} if value is not None else {})
    found = told.difference(sides[0], sides[1], asked.workload, without)
    foreign = [one.name for one in found.knobs if one.name.startswith("parameter.") and one.name not in own]
    if foreign:
        raise FaultwatchError(f"{asked.workload.name} has no {foreign[0]}", f"it has: {', '.join(own) or 'none'}")
    if found.left_out:
        terminal().print(escape_text(found.left_out), style="yellow", markup=False, highlight=False)
    if not found.knobs:
        raise FaultwatchError(
            "no knob differs that can be set for a single run", "--change NAME=BEFORE..AFTER names one"
        )
    workbench = prepare_workbench(asked.settings, asked.variables, confined=asked.confined)

    def said(state: KnobSearch, report: Report) -> None:
        terminal().print(escape_text(told.line(state, report, asked.metric)), markup=False, highlight=False)

    with connect(asked.settings) as service, host_lock(asked.settings, say), activity("searching the knobs"):
        searcher = KnobSearcher(
            repository=asked.repository,
            revision=asked.repository.revision(revision),
            before=KnobSetting(asked.workload, asked.case, workbench.bench).with_knobs(found.common),
            builder=workbench.builder,
            service=service,
            spool=Spool(asked.settings.spool),
            samples=asked.samples,
        )
        search = searcher.search(found.knobs, asked.metric, said, asked.least)
    for line in (
        [told.document(search, found)] if asked.as_json else map(escape_text, told.result(search, found, asked.metric))
    ):
        click.echo(line)
    return isinstance(search.answer, FoundKnobs)


class _Teller:
    """Says how far a search has come, a line a run."""

    def __init__(self, metric: str) -> None:
        self._metric = metric

    def measuring(self, state: Search, commit: str) -> None:
        """Say nothing: the line comes with what was measured."""

    def measured(self, state: Search, report: Report) -> None:
        """Tell what was measured."""
        terminal().print(_line(state, report, self._metric), markup=False, highlight=False)

    def proving(self, state: Search) -> None:
        """Tell what is proven."""
        if isinstance(state.answer, Prove):
            text = f"{state.answer.commit[:10]}  and its parent {state.answer.parent[:10]} in turns, as a proof"
            terminal().print(text, markup=False, highlight=False)

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        """Say nothing: the result shows it."""


def _is_settled(search: Search) -> bool:
    """Whether something was found, and what was measured as a proof bears it out."""
    culprits = search.answer.culprits if isinstance(search.answer, Found) else ()
    return bool(culprits) and all(one.proof is None or one.proof.state is ProofState.STANDS for one in culprits)


def _line(state: Search, report: Report, name: str) -> str:
    left = state.answer.left - 1 if isinstance(state.answer, Measure) else 0
    what = "could not be measured"
    if report.outcome is Outcome.MEASURED:
        from runner.contract.level import median

        what = f"{median(report.values(name))} {metric(name).unit}"
    return f"{report.revision.commit[:10]}  {what}; about {left} to go"


def _result(search: Search, titles: dict[str, Revision], name: str) -> list[str]:
    from runner.cli.formatting import escape_text

    if isinstance(search.answer, NothingToFind):
        return [search.answer.sentence]
    lines = []
    for one in search.answer.culprits if isinstance(search.answer, Found) else ():
        lines.append(f"{one.commit[:10]} {titles[one.commit].title!r}")
        lines.append(f"  {name}: {one.before} at {one.parent[:10]} → {one.after}")
        if len(one.candidates) > 1:
            others = ", ".join(commit[:10] for commit in one.candidates if commit != one.commit)
            lines.append(f"  or one of those that could not be measured: {others}")
        if one.proof is None:
            lines.append(f"  to prove it: faultwatch compare {one.parent[:10]} {one.commit[:10]}")
        else:
            lines.append(f"  {_SHOWN[one.proof.state]}: {one.proof.sentence}")
    return [escape_text(line) for line in lines]
