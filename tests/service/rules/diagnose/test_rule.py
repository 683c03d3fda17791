import math

import pytest

from runner.contract.profile import Profile, Touch
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import Rule
from tests.service.profiles import anatomy, profile


def make_rule(saving: float) -> Rule:
    """Return a rule that always applies and saves a given share."""
    return Rule("x", "X", lambda _: True, lambda _: saving, lambda _: (), lambda _: (), "")


def make_facts(*, n_samples: int, before: Profile | None = None) -> Facts:
    """Return the facts of a profile with a number of samples of CPU time."""
    observed = profile(anatomy({Touch.FIRST: 1000}), cost=0.02)
    assert observed.on_cpu
    on_cpu = observed.on_cpu.model_copy(update={"samples": n_samples})
    observed = observed.model_copy(update={"on_cpu": on_cpu})
    return Facts.from_profile(observed, before)


@pytest.mark.parametrize(
    ("saving", "n_samples", "is_found"),
    [
        (0.0134, 1500, False),
        (0.0134, 10_000, True),
        (0.03, 1500, True),
        (0.05, 100, True),
        (0.02, 100, False),
        (0.05, 40, False),
        (0.3, 40, True),
        (0.009, 1_000_000, False),
        (0.01, 1_000_000, False),
        # Without enough samples, this saving was measured in another way.
        (0.05, 10, True),
        (0.009, 10, False),
        (1.0, 100, True),
        (3.0, 100, True),
        (math.nan, 1500, False),
        (-1.0, 1500, False),
    ],
)
def test_a_state_is_named_only_if_its_price_is_not_chance(saving: float, n_samples: int, *, is_found: bool) -> None:
    finding = make_rule(saving).evaluate(make_facts(n_samples=n_samples))
    assert (finding is not None) is is_found
    if finding:
        assert finding.price == min(1.0, saving)


def test_a_change_that_was_counted_needs_no_certain_price() -> None:
    before = profile(anatomy({Touch.FIRST: 500}), cost=0.01)
    assert make_rule(0.0134).evaluate(make_facts(n_samples=1500, before=before))
    assert make_rule(0.009).evaluate(make_facts(n_samples=1500, before=before)) is None
