"""Pools: ``FAULTWATCH_POOL`` makes machines one host; the environments of their runs have the setting ``host.pool``."""

from collections.abc import Mapping

POOL_SETTING = "host.pool"
"""The setting that contains the name of the pool. A machine of no pool does not have it."""


def build_pool_settings(pool: str) -> dict[str, str]:
    """Return the settings that show that a machine belongs to a pool; none if its name is empty."""
    return {POOL_SETTING: pool} if pool else {}


def are_of_one_pool(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Return whether two environments are those of machines of the same pool."""
    return POOL_SETTING in first and first[POOL_SETTING] == second.get(POOL_SETTING)
