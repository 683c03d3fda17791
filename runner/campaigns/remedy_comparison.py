"""Prepares the comparison of a case with and without a remedy, which consists of other settings."""

from collections.abc import Mapping

from runner.campaigns.setting_search import (
    SETTINGS_PER_RUN,
    VARIABLE_PREFIX,
    ConfiguredCase,
    convert_value_to_same_type,
)
from runner.contract.report import Case
from runner.contract.setting_search import PARAMETER_PREFIX
from runner.errors import FaultwatchError
from runner.measuring.trial import Bench, Subject, Trial
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.workload import Workload
from runner.workload.remedy import apply_remedy

MIN_PAIRS = 24
"""The number of pairs before the first verdict. It suffices for exact counts, and for the bounds of noisy metrics."""


def build_remedy_trials(
    repository: Repository,
    builder: Builder,
    workload: Workload,
    case: Case,
    *,
    bench: Bench,
    revision: str,
    settings: Mapping[str, str | None],
) -> tuple[Trial, Trial]:
    """Build a revision, and return the trials of a case without and with a remedy.

    Parameters
    ----------
    settings
        The settings of the remedy, with names as in ``faultwatch try --with`` or as in an environment; None removes
        ``variable.NAME``, ``process.huge_pages`` or ``process.memory_limit``.

    Raises
    ------
    FaultwatchError
        The revision does not build, the remedy does not exist, or this host cannot measure one of the two trials.
    """
    present_case = ConfiguredCase(workload, case, bench)
    remedied_case = _apply_settings(present_case, settings)
    resolved_revision = repository.get_revision(revision)
    try:
        tree, build = builder.build(repository, resolved_revision.commit, workload)
    except BuildFailure as failure:
        raise FaultwatchError(f"{resolved_revision.commit[:10]} cannot be built: {failure.message}") from None
    trials = []
    for description, configured_case in (("as it is", present_case), ("with the remedy", remedied_case)):
        trial = Trial(
            configured_case.workload,
            Subject(repository.name, resolved_revision, configured_case.case, build),
            configured_case.bench,
            tree,
        )
        if trial.obstacle:
            raise FaultwatchError(f"{case.name} cannot be measured {description}: {trial.obstacle}")
        trials.append(trial)
    return trials[0], trials[1]


def apply_parameters(case: Case, settings: Mapping[str, str | None]) -> Case:
    """Return a case with the parameter values of a remedy; settings that are no parameters of the case are ignored."""
    parameters = dict(case.parameters)
    for name, value in settings.items():
        parameter = name.removeprefix(PARAMETER_PREFIX)
        if parameter in parameters and value is not None:
            parameters[parameter] = convert_value_to_same_type(parameters[parameter], value)
    return case.model_copy(update={"parameters": parameters})


def _apply_settings(present_case: ConfiguredCase, settings: Mapping[str, str | None]) -> ConfiguredCase:
    """Return a case with some settings changed but the same name, because only runs of one case can be compared.

    Raises
    ------
    FaultwatchError
        The remedy does not exist or cannot take effect on this host, or a setting other than ``variable.NAME``,
        ``process.huge_pages`` and ``process.memory_limit`` is to be removed (None).
    """
    run_settings: dict[str, str | None] = {}
    workload_settings: dict[str, str] = {}
    for name, value in settings.items():
        if name in SETTINGS_PER_RUN or name.startswith(VARIABLE_PREFIX):
            run_settings[name] = value
        elif value is not None:
            workload_settings[name.removeprefix(PARAMETER_PREFIX)] = value
        else:
            raise FaultwatchError(
                f"{name} cannot be removed",
                f"give it another value; to remove a variable, name it {VARIABLE_PREFIX}NAME",
            )
    workload = apply_remedy(present_case.workload, workload_settings)
    return ConfiguredCase(workload, present_case.case, present_case.bench).apply_settings(run_settings)
