"""Searches for the settings that moved a metric: measures one revision with some of the settings changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.base import Parameter
from runner.contract.report import Case, Environment, Report, Revision
from runner.contract.setting_search import (
    PARAMETER_PREFIX,
    MeasureSettings,
    SettingChange,
    SettingSearch,
    SettingSearchRequest,
)
from runner.environment.allocator import IS_MISSING
from runner.errors import FaultwatchError
from runner.measuring.measurement import measure_revision
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench
from runner.process_state.huge_pages import HugePages
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.process_state import ProcessState
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.subject.build import Builder
from runner.subject.repository import Repository
from runner.workload import Workload

VARIABLE_PREFIX = "variable."
BUILD_PREFIX = "build."
"""The prefix of settings that are environment variables of the build, such as ``build.CFLAGS``."""
SETTINGS_PER_RUN = frozenset({HugePages.setting, MemoryGroup.setting})

RunObserver = Callable[[SettingSearch, Report], None]
"""Called after each run, with the state of the search before the run, and the report."""


def is_settable_per_run(name: str) -> bool:
    """Return whether a setting can be changed for a single run; other settings need an administrator."""
    return name in SETTINGS_PER_RUN or name.startswith((VARIABLE_PREFIX, PARAMETER_PREFIX, BUILD_PREFIX))


class ConfiguredCase(Struct, frozen=True):
    """A case with everything that settings can change: its workload, its parameters, and the bench."""

    workload: Workload
    case: Case
    bench: Bench

    def apply_settings(self, values: Mapping[str, str | None]) -> "ConfiguredCase":
        """Return this case with some settings changed; None removes a setting, but leaves a parameter as it is.

        Parameters
        ----------
        values
            The values by the name of the setting, for which :func:`is_settable_per_run` holds. A parameter must be one
            of the case.

        Raises
        ------
        FaultwatchError
            A setting cannot have the value on this host.
        """
        # Group the values by what they change: the run, the build, the parameters or the variables.
        variables = dict(self.bench.variables)
        parameters = dict(self.case.parameters)
        run_settings: dict[str, str] = {}  # values of the workload's table [run], by key
        build_variables = dict(self.workload.build.environment)
        build_settings: dict[str, str] = {}  # the changed ones of them, by the name of the setting
        for name, value in values.items():
            kind, _, short_name = name.partition(".")
            if name == HugePages.setting:
                run_settings["huge_pages"] = value or "host"
            elif name == MemoryGroup.setting:
                run_settings["memory_limit"] = value or "none"
            elif kind == "build":
                build_variables.pop(short_name, None)
                if value is not None:
                    build_variables[short_name] = build_settings[name] = value
            elif kind == "parameter" and value is not None:
                parameters[short_name] = convert_value_to_same_type(parameters[short_name], value)
            elif kind == "variable":
                variables.pop(short_name, None)
                if value is not None:
                    variables[short_name] = value
        # Rebuild the case, and add the settings of the build to its environment.
        workload = _rebuild_workload(self.workload, run_settings, build_variables)
        case = self.case.model_copy(update={"parameters": parameters})
        capture = self.bench.capture

        def capture_environment_with_build(state: ProcessState) -> Environment:
            """Return the captured environment with the changed variables of the build, which it does not contain."""
            environment = capture(state)
            return Environment(settings=environment.settings | build_settings) if build_settings else environment

        configured_case = ConfiguredCase(
            workload, case, replace(self.bench, variables=variables, capture=capture_environment_with_build)
        )
        configured_case._require_effect(values)
        return configured_case

    @property
    def environment(self) -> Environment:
        """The environment in which the case runs."""
        return self.bench.capture_environment(self.workload, self.case)

    def _require_effect(self, values: Mapping[str, str | None]) -> None:
        """Raise if a changed setting has not taken effect: runs would not show its influence."""
        actual_settings = self.environment.settings
        for name, value in values.items():
            if not name.startswith(PARAMETER_PREFIX) and actual_settings.get(name) != value:
                raise FaultwatchError(
                    f"{name} cannot be set to {value or 'nothing'} on this host: "
                    f"it is {actual_settings.get(name) or 'not set'}",
                    "exclude it with --without, or run `faultwatch doctor`",
                )
        if values.get(f"{VARIABLE_PREFIX}LD_PRELOAD") and IS_MISSING in actual_settings.get("allocator", ""):
            raise FaultwatchError(
                f"this host does not have the library {values[f'{VARIABLE_PREFIX}LD_PRELOAD']}: "
                f"{actual_settings['allocator']}",
                "install it, or exclude the setting with --without",
            )


def convert_value_to_same_type(previous_value: Parameter, value: str) -> Parameter:
    """Convert the text of a parameter to the type of its previous value; keep the text if that is impossible."""
    if isinstance(previous_value, bool):
        return value == "true"
    try:
        return type(previous_value)(value)
    except ValueError:
        return value


def _rebuild_workload(
    workload: Workload, run_settings: Mapping[str, str], build_variables: Mapping[str, str]
) -> Workload:
    """Return a workload with other settings in its tables ``run`` and ``build``."""
    # Construct a new workload: a copy would keep the cached hash of the definition, and reuse builds of the original.
    tables = {name: getattr(workload, name) for name in Workload.model_fields}
    tables["run"] = workload.run.model_copy(update=dict(run_settings))
    tables["build"] = workload.build.model_copy(update={"environment": dict(build_variables)})
    return Workload(**tables)


class SettingSearcher(Struct, frozen=True):
    """Searches the settings that differ between two environments, with one case of one revision.

    Like a search for commits, it keeps no state outside the service.
    """

    repository: Repository
    revision: Revision
    before: ConfiguredCase
    builder: Builder
    service: Service
    spool: Spool
    samples: int | None = None

    def search(
        self, settings: Sequence[SettingChange], metric: str, observe: RunObserver, min_difference: float = 0
    ) -> SettingSearch:
        """Measure the sets of changed settings that the service asks for, until it names those that moved the metric.

        In each run, the settings of the set have their new values, and all others their old values.

        Raises
        ------
        FaultwatchError
            A setting cannot be set on this host, the service does not accept a run, or the canary of a run is wrong.
        """
        outbox = Outbox(self.spool, self.service.send)
        outbox.deliver(at_once=True)
        self.service.send_revisions(self.repository.name, (self.revision,))
        before = self.before.apply_settings({setting.name: setting.before for setting in settings})
        request = SettingSearchRequest(
            subject=self.repository.name,
            revision=self.revision.commit,
            host=before.bench.host,
            environment=before.environment,
            case=before.case,
            metric=metric,
            settings=tuple(settings),
            min_difference=min_difference,
        )
        while True:
            state = self.service.search_settings(request)
            if not isinstance(state.answer, MeasureSettings):
                return state
            report = self._measure(settings, state.answer.changed).model_copy(update={"experimental": True})
            outbox.post_now(report)
            if report.canary and not report.canary.holds:
                raise FaultwatchError(f"the run cannot be used: {report.quarantine}", "run `faultwatch doctor`")
            observe(state, report)

    def _measure(self, settings: Iterable[SettingChange], changed_settings: Iterable[str]) -> Report:
        """Measure the revision with ``changed_settings`` at their new values and all others at their old values."""
        changed_names = frozenset(changed_settings)
        configured_case = self.before.apply_settings(
            {setting.name: setting.after if setting.name in changed_names else setting.before for setting in settings}
        )
        return measure_revision(
            self.repository,
            self.builder,
            configured_case.workload,
            configured_case.case,
            bench=configured_case.bench,
            revision=self.revision,
            sampling=Sampling.from_workload(configured_case.workload, self.samples),
        )
