"""Carry out a search for the knobs that moved a metric: one revision, measured with some of them changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.contract.base import Parameter
from runner.contract.knob_search import KnobChange, KnobSearch, KnobSearchRequest, MeasureKnobs
from runner.contract.report import Case, Environment, Report, Revision
from runner.errors import FaultwatchError
from runner.measuring.measurement import measure_revision
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.state.huge_pages import HugePages
from runner.state.memory_group import MemoryGroup
from runner.state.process import ProcessState
from runner.subject.build import Builder
from runner.subject.repository import Repository
from runner.workload import Workload

VARIABLE = "variable."
PARAMETER = "parameter."
BUILD = "build."
"""Begins the names of knobs that are variables of the build, such as ``build.CFLAGS``."""
PER_RUN = frozenset({HugePages.knob, MemoryGroup.knob})

RunObserver = Callable[[KnobSearch, Report], None]
"""Is told of each run, and where the search stood before it."""


def can_be_set(name: str) -> bool:
    """Whether a knob can be set for a single run. All others are the host's, and its administrator's."""
    return name in PER_RUN or name.startswith((VARIABLE, PARAMETER, BUILD))


@dataclass(frozen=True, slots=True)
class KnobSetting:
    """A case and all that is set for one run of it."""

    workload: Workload
    case: Case
    bench: Bench

    def with_knobs(self, values: Mapping[str, str | None]) -> "KnobSetting":
        """Return the same with some knobs set; None takes one away.

        Raises
        ------
        FaultwatchError
            Where the workload itself sets one that is to be taken away.
        """
        variables = dict(self.bench.variables)
        parameters = dict(self.case.parameters)
        run: dict[str, str] = {}
        build = dict(self.workload.build.environment)
        told: dict[str, str] = {}
        for name, value in values.items():
            kind, _, rest = name.partition(".")
            if name == HugePages.knob:
                run["huge_pages"] = value or "host"
            elif name == MemoryGroup.knob:
                run["memory_limit"] = value or "none"
            elif kind == "build":
                build.pop(rest, None)
                if value is not None:
                    build[rest] = told[name] = value
            elif kind == "parameter" and value is not None:
                parameters[rest] = _like(parameters[rest], value)
            elif kind == "variable":
                variables.pop(rest, None)
                if value is not None:
                    variables[rest] = value
        workload = _changed(self.workload, run, build)
        case = self.case.model_copy(update={"parameters": parameters})
        capture = self.bench.capture

        def capture_all(state: ProcessState) -> Environment:
            found = capture(state)
            return Environment(knobs=found.knobs | told) if told else found

        setting = KnobSetting(workload, case, replace(self.bench, variables=variables, capture=capture_all))
        setting._require(values)
        return setting

    @property
    def environment(self) -> Environment:
        """What holds while the case runs."""
        return self.bench.environment_of(self.workload, self.case)

    def _require(self, values: Mapping[str, str | None]) -> None:
        """Refuse where a knob does not hold although it was set: such runs would never be what was asked for."""
        held = self.environment.knobs
        for name, value in values.items():
            if not name.startswith(PARAMETER) and held.get(name) != value:
                raise FaultwatchError(
                    f"{name} cannot be set to {value or 'nothing'} here: it is {held.get(name) or 'not set'}",
                    "leave it out with --without, or see `faultwatch doctor`",
                )


def _like(was: Parameter, value: str) -> Parameter:
    """Read a parameter's value as what it was before: a number stays one."""
    try:
        return value == "true" if isinstance(was, bool) else type(was)(value)
    except ValueError:
        return value


def _changed(workload: Workload, run: Mapping[str, str], build: Mapping[str, str]) -> Workload:
    # Made anew, not copied: a copy would keep the hash of its definition, and take another's builds for its own.
    tables = {name: getattr(workload, name) for name in Workload.model_fields}
    tables["run"] = workload.run.model_copy(update=dict(run))
    tables["build"] = workload.build.model_copy(update={"environment": dict(build)})
    return Workload(**tables)


@dataclass(frozen=True, slots=True)
class KnobSearcher:
    """Searches the knobs that differ between two environments, with one case of one revision.

    As a search for a commit, it knows nothing but what the service has stored.
    """

    repository: Repository
    revision: Revision
    before: KnobSetting
    builder: Builder
    service: Service
    spool: Spool
    samples: int | None = None

    def search(self, knobs: Sequence[KnobChange], metric: str, said: RunObserver, least: float = 0) -> KnobSearch:
        """Search some knobs, none of which is changed before.

        Raises
        ------
        FaultwatchError
            Where a knob cannot be set here, or the service does not take what was measured.
        """
        outbox = Outbox(self.spool, self.service.send)
        outbox.deliver(at_once=True)
        self.service.send_revisions(self.repository.name, (self.revision,))
        before = self.before.with_knobs({knob.name: knob.before for knob in knobs})
        request = KnobSearchRequest(
            subject=self.repository.name,
            revision=self.revision.commit,
            host=before.bench.host,
            environment=before.environment,
            case=before.case,
            metric=metric,
            knobs=tuple(knobs),
            least=least,
        )
        while isinstance((state := self.service.search_knobs(request)).answer, MeasureKnobs):
            report = self._measure(knobs, state.answer.changed).model_copy(update={"aside": True})
            outbox.post(report)
            outbox.deliver(at_once=True)
            if outbox.error:
                raise outbox.error
            if report.canary and not report.canary.holds:
                raise FaultwatchError(f"the run cannot be used: {report.quarantine}", "see `faultwatch doctor`")
            said(state, report)
        return state

    def _measure(self, knobs: Iterable[KnobChange], changed: Iterable[str]) -> Report:
        chosen = frozenset(changed)
        setting = self.before.with_knobs({one.name: one.after if one.name in chosen else one.before for one in knobs})
        return measure_revision(
            self.repository,
            self.builder,
            setting.workload,
            setting.case,
            bench=setting.bench,
            revision=self.revision,
            sampling=Sampling.of(setting.workload, self.samples),
        )
