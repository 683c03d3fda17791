"""The names to which a service answers, by the address at which it listens."""

import pytest

from service.config.settings import Config
from service.config.trusted_hosts import list_trusted_hosts

NAMES = ("localhost", "127.0.0.1", "faults.example.org")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_on_loopback_only_configured_names_are_trusted(address: str) -> None:
    assert list_trusted_hosts(NAMES, address) == NAMES


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "faults.example.org"])
def test_a_service_that_others_reach_trusts_all_names(address: str) -> None:
    assert list_trusted_hosts(NAMES, address) is None


def test_configured_names_are_trusted_in_addition_to_those_of_loopback() -> None:
    assert Config.from_environment({}).trusted_hosts == NAMES[:2]
    assert Config.from_environment({"FAULTWATCH_NAMES": "faults.example.org"}).trusted_hosts == NAMES
