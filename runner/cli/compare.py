"""``faultwatch compare``: measure two revisions interleaved in one session, and show the verdict on each metric."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct, field

from runner.cli.activity import Activity, activity
from runner.cli.arguments import ends_of, workload_and_range
from runner.cli.formatting import count_of
from runner.cli.options import (
    again_option,
    choice_options,
    env_option,
    options,
    repo_option,
    result_options,
    samples_option,
    sandbox_option,
)
from runner.cli.result import give_result
from runner.cli.suggestion import TypedTarget
from runner.cli.terminal import say
from runner.cli.workbench import find_target, host_turn, prepare_workbench
from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.gate import BaseQuery
from runner.contract.report import Build, Case, Outcome, Revision, Stage
from runner.measuring.comparison import (
    SAMPLES_PER_FURTHER_BUILD,
    Compared,
    Pairs,
    compare,
    compare_with_stored,
    make_undecided,
)
from runner.measuring.preflight import Workbench, wants_sandbox
from runner.measuring.trial import Subject, Trial
from runner.reporting.client import Service
from runner.settings import load_settings
from runner.subject.presence import find_present_revision
from runner.subject.repository import Repository
from runner.workload import Workload
from runner.workload.judge import Contest
from runner.workload.lookup import choose_cases

if TYPE_CHECKING:
    from runner.subject.build import BuildFailure


@click.command(name="compare")
@options(
    workload_and_range(required=True),
    repo_option,
    choice_options,
    env_option,
    samples_option,
    sandbox_option(),
    again_option,
    result_options,
)
def command(
    workload_name: str | None,
    span: str,
    repo: str | None,
    choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    again: bool,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure both ends of a RANGE, BASE..HEAD, interleaved until all changes are decided or max_samples is reached.

    With --samples, measure that many pairs. Exit code 1 if a metric got worse by more than its budget, or if a case
    failed.
    """
    from runner.reporting.embedded import connect

    settings = load_settings()
    ends = ends_of(span)
    workload, repository = find_target(settings, workload_name, repo)
    chosen = choose_cases(workload, choices, case_names)
    base, head = (find_present_revision(repository, workload, end).commit for end in ends)
    confinement = wants_sandbox(confined, repository, settings)
    with connect(settings) as service, host_turn(settings) as turn:
        service.check()
        workbench = prepare_workbench(settings, variables, turn=turn, confined=confinement, again=again)
        patient = service.patient(say)
        contests = [Contest(workload, workload, case.parameters) for case in chosen]
        results = compare_cases(patient, repository, workload, workbench, (base, head), contests, samples)
    give_result(
        [document(result) for result in results],
        as_json=as_json,
        output_file=output_file,
        show=lambda: show_results(results, TypedTarget(workload.name, workload_name, repo, variables)),
    )
    if any(_is_bad(result) for result in results):
        raise click.exceptions.Exit(1)


def show_results(results: Sequence[Compared], target: TypedTarget | None) -> None:
    """Print the results of all cases as tables, and for each that got worse the command that says why, if any can."""
    from runner.cli.comparison_tables import show_comparison

    for result in results:
        show_comparison(result, target)


def compare_cases(
    service: Service,
    repository: Repository,
    workload: Workload,
    workbench: Workbench,
    ends: tuple[str, str],
    contests: Sequence[Contest],
    samples: int | None = None,
    *,
    from_store: bool = False,
) -> list[Compared]:
    """Build base and head, and measure them interleaved, case by case.

    Parameters
    ----------
    workload
        Says how many pairs are measured.
    ends
        The two revisions: base, head.
    contests
        The cases, and by which workload each side is built and run.
    from_store
        Skip measuring base if its stored run shows that head is the same.
    """
    results = []
    with activity("comparing") as shown:
        base, head = (_Sides(repository, workbench, repository.revision(name), shown) for name in ends)
        session = _Session(service, Pairs.from_workload(workload, samples), len(contests), shown)
        for number, contest in enumerate(contests, 1):
            case = contest.head_case
            session.begin(case, len(contests) - number)
            if contest.base is None:
                results.append(_head_alone(base.find_side(contest.head), head.find_side(contest.head), case))
                continue
            sides = base.find_side(contest.base), head.find_side(contest.head)
            stored = _compare_with_stored(*sides, case, session) if from_store and contest.alike else None
            results.append(stored or _compare(sides, (contest.base_case, case), session))
    return results


class _Built(Struct, frozen=True):
    """A built revision, or why it does not build."""

    tree: Path
    build: Build
    failure: "BuildFailure | None" = None


class _Side(Struct, frozen=True, dict=True):
    """A revision that is built when needed."""

    repository: Repository
    workload: Workload
    workbench: Workbench
    revision: Revision
    shown: Activity

    @cached_property
    def built(self) -> _Built:
        from runner.subject.build import BuildFailure

        self.shown(f"building {self.revision.commit[:10]}")
        try:
            return _Built(*self.workbench.builder.build(self.repository, self.revision.commit, self.workload))
        except BuildFailure as failure:
            return _Built(Path(), failure.build, failure)

    def trial(self, case: Case) -> Trial:
        return self._trial_of(case, self.built.tree, self.built.build)

    def unbuilt_trial(self, case: Case) -> Trial:
        """Return the trial of a case that is never executed."""
        return self._trial_of(case, Path(), Build())

    def prepare_further_trial(self, case: Case, number: int) -> Trial:
        """Return the trial of a further build.

        Raises
        ------
        BuildFailure
            It does not build again.
        """
        self.shown(f"building {self.revision.commit[:10]} again")
        build = self.workbench.builder.build
        return self._trial_of(case, *build(self.repository, self.revision.commit, self.workload, number=number))

    @contextmanager
    def trial_in_place_of(self, case: Case, tree: Path) -> Iterator[Trial]:
        """Yield the trial of this revision, built where another one was.

        Raises
        ------
        BuildFailure
            It does not build again.
        """
        self.shown(f"building {self.revision.commit[:10]} in the other revision's place")
        builder = self.workbench.builder
        with builder.build_in_place_of(self.repository, self.revision.commit, self.workload, tree) as there:
            yield self._trial_of(case, there, self.built.build)

    def _trial_of(self, case: Case, tree: Path, build: Build) -> Trial:
        subject = Subject(self.repository.name, self.revision, case, build)
        return Trial(self.workload, subject, self.workbench.bench, tree)


class _Sides(Struct, frozen=True):
    """A revision by the workloads that build and run it: mostly one."""

    repository: Repository
    workbench: Workbench
    revision: Revision
    shown: Activity
    known: dict[int, _Side] = field(default_factory=dict)

    def find_side(self, workload: Workload) -> _Side:
        """Return the side that is built and run as a workload says."""
        made = _Side(self.repository, workload, self.workbench, self.revision, self.shown)
        return self.known.setdefault(id(workload), made)


class _Session(Struct):
    """What the comparisons of a command have in common; shows how far they are."""

    service: Service
    pairs: Pairs
    cases: int
    shown: Activity
    title: str = ""
    later: int = 0
    """Executions of the cases after this one, at least."""

    def begin(self, case: Case, others: int) -> None:
        """Begin with a case; so many others follow."""
        self.title = f"comparing {case.name}"
        self.later = others * (2 + 2 * self.pairs.first)

    def start_executing(self, executions: int) -> None:
        """Show that so many executions are ahead before the first decision about the case."""
        self.shown(self.title)
        self.shown.remain(executions + self.later)

    def decide(self, request: ComparisonRequest) -> Comparison:
        """Let the service decide, and show how many executions it still needs."""
        decision = self.service.compare(request)
        more = min(decision.more, self.pairs.most - len(request.head.samples))
        if more > 0:
            # Else the time that is left would seem to grow for no reason.
            self.shown(f"{self.title}, not decided after {count_of(len(request.head.samples), 'pair')}")
        self.shown.remain(max(0, more) * (1 if request.base_stored else 2) + self.later)
        return decision


def _compare_with_stored(base: _Side, head: _Side, case: Case, session: _Session) -> Compared | None:
    """Compare head with the stored run of base; None if that does not show that they are the same.

    Noisy metrics must be measured interleaved.
    """
    if head.workload.metrics.judging.requested or head.built.failure:
        return None
    trial = head.trial(case)
    if trial.obstacle:
        return None
    query = BaseQuery(
        subject=head.repository.name,
        revision=base.revision.commit,
        case=case,
        host=trial.host.name,
        environment=trial.environment.hash,
    )
    stored = session.service.find_stored_base(query)
    if stored is None:
        return None
    session.start_executing(1 + max(2, session.pairs.first))
    return compare_with_stored(
        stored, trial, session.decide, pairs=session.pairs, cases=session.cases, progress=session.shown.advance
    )


def _head_alone(base: _Side, head: _Side, case: Case) -> Compared:
    """Return the result of a case that base cannot run, because head adds its parameters."""
    skipped = base.unbuilt_trial(case)
    trial = head.trial(case)
    known = {skipped: skipped.skipped("head adds this case, and the base cannot run it")}
    if failure := head.built.failure:
        known[trial] = trial.failed(Stage.BUILD, failure.message, failure.build.log, temporary=failure.temporary)
    elif trial.obstacle:
        known[trial] = trial.skipped(trial.obstacle)
    return make_undecided(skipped, trial, known)


def _compare(sides: Sequence[_Side], cases: Sequence[Case], session: _Session) -> Compared:
    base, head = (side.trial(case) for side, case in zip(sides, cases, strict=True))
    failed = {
        trial: trial.failed(Stage.BUILD, failure.message, failure.build.log, temporary=failure.temporary)
        for side, trial in zip(sides, (base, head), strict=True)
        if (failure := side.built.failure)
    }
    for trial in (base, head):
        if trial not in failed and trial.obstacle:
            failed[trial] = trial.skipped(trial.obstacle)
    if failed:
        return make_undecided(base, head, failed)

    def other_builds(number: int) -> tuple[Trial, Trial] | None:
        from runner.subject.build import BuildFailure

        try:
            base, head = (side.prepare_further_trial(case, number) for side, case in zip(sides, cases, strict=True))
        except BuildFailure:
            return None
        session.start_executing(2 + 2 * SAMPLES_PER_FURTHER_BUILD)
        return base, head

    session.start_executing(2 + 2 * session.pairs.first)
    return compare(
        base,
        head,
        session.decide,
        pairs=session.pairs,
        cases=session.cases,
        other_builds=other_builds,
        other_place=lambda: sides[0].trial_in_place_of(cases[0], sides[1].built.tree),
        progress=session.shown.advance,
    )


def document(result: Compared) -> dict[str, Any]:
    """Return the result of a case as --json prints it."""
    return {
        "base": result.base.model_dump(mode="json"),
        "head": result.head.model_dump(mode="json"),
        "comparison": result.comparison.model_dump(mode="json") if result.comparison else None,
        "base_stored": result.base_stored,
    }


def _is_bad(result: Compared) -> bool:
    if result.comparison is None:
        return Outcome.FAILED in {result.base.outcome, result.head.outcome}
    return any(metric_verdict.over for metric_verdict in result.comparison.metrics)
