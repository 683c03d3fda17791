"""Describes how exact the first counts of a program are."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from runner.contract.level import find_majority
from runner.contract.proof_power import compute_power, describe_power
from runner.contract.variation_causes import suggest_remedy

_SETTING_HINT = "If the count keeps varying, `--env NAME=VALUE` tests a setting that may be the reason. "
_MIN_AGREEING = 2
"""The smallest number of executions that have to agree for a count to be exact."""


class Exactness(Struct, frozen=True):
    """Whether a count is exact.

    Attributes
    ----------
    exact
        Whether more than half of the executions, and at least two, agree.
    sentence
        How much the count varies, and what this means for comparisons.
    """

    exact: bool
    sentence: str


def assess_exactness(
    counts: Sequence[float],
    settings: Mapping[str, str | None] = MappingProxyType({}),
    seconds: float = 0,
    *,
    is_server: bool = False,
    tried_settings: Collection[str] = (),
) -> Exactness:
    """Return whether the minor faults of one program are exact, how much they vary, and what to do about it.

    Parameters
    ----------
    seconds
        How long one execution takes.
    settings
        The settings of the run, which say how the program was built.
    is_server
        Whether an execution is a start of a server.
    tried_settings
        The assignments and the command that were tried to make the count repeat, which are not recommended.

    Raises
    ------
    ValueError
        There are no counts.
    """
    low, high = int(min(counts)), int(max(counts))
    executions = "starts" if is_server else "executions"
    remedy = suggest_remedy(settings, is_server=is_server, tried_settings=tried_settings)
    if low == high and len(counts) >= _MIN_AGREEING:
        return Exactness(
            exact=True,
            sentence=f"{low:,} minor faults in each of {len(counts)} {executions}, so even one more fault is a drift.",
        )
    if len(counts) == 1:
        return Exactness(
            exact=False,
            sentence=f"{low:,} minor faults in one {executions.removesuffix('s')}: `faultwatch measure --samples 10` "
            "shows whether the count varies.",
        )
    majority = find_majority(counts)
    if majority and majority[1] >= _MIN_AGREEING:
        count, n_agreeing = majority
        return Exactness(
            exact=True,
            sentence=f"{int(count):,} minor faults in {n_agreeing} of {len(counts)} {executions}, {low:,} to {high:,} "
            f"overall. More {executions} show whether the others are only outliers: `faultwatch measure --samples 10`. "
            f"{'' if is_server else _SETTING_HINT}{remedy}",
        )
    next_step = "" if tried_settings else f"{_describe_next_step(is_server=is_server)} "
    return Exactness(
        exact=False,
        sentence=f"{low:,} to {high:,} minor faults in {len(counts)} {executions}: the count varies without a code "
        f"change. {remedy} {next_step}While it varies, comparisons need more "
        f"{executions}.{_describe_power(counts, seconds)}",
    )


def _describe_next_step(*, is_server: bool) -> str:
    """Return how the user can try a change that may make the count repeat, in a sentence."""
    if is_server:
        return (
            "Change [server] or [load] in `workload.toml`, and check the effect with `faultwatch measure --samples 10`."
        )
    return (
        "Try such a setting with `faultwatch measure --env NAME=VALUE`, and keep it in `[run.environment]`, or in "
        "`command` if it is an option."
    )


def _describe_power(counts: Sequence[float], seconds: float) -> str:
    """Return a space and a sentence on what a comparison can detect; empty if the counts are too few to tell."""
    power = compute_power(counts, seconds)
    return f" {describe_power(power)}" if power and power.percent is not None else ""
