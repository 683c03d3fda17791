"""What the claims of an identity fit."""

import pytest

from service.config.claim_patterns import matches_repository, matches_workflow

GATE = "octo/faultwatch/.github/workflows/gate.yml"


@pytest.mark.parametrize(
    ("reference", "pattern", "fits"),
    [
        (f"{GATE}@refs/heads/main", f"{GATE}@*", True),
        (f"{GATE}@refs/heads/main", f"{GATE}@refs/heads/*", True),
        (f"{GATE}@refs/heads/evil/main", f"{GATE}@refs/heads/*", False),
        (f"{GATE}@abc", "octo/*/.github/workflows/gate.yml@abc", True),
        (f"octo/x/evil/{GATE}@abc", "octo/*/.github/workflows/gate.yml@abc", False),
        (f"octo/evil/.github/workflows/x.yml@refs/heads/{GATE}@main", f"octo/*/{GATE}@main", False),
        (f"{GATE}@evil@abc", f"{GATE}*@abc", False),
        (f"{GATE}@a@b", f"{GATE}@*", False),
        ("octo/faultwatch/.github/workflows/gateXyml@a", f"{GATE}@a", False),
    ],
)
def test_a_star_stays_within_a_name(reference: str, pattern: str, fits: bool) -> None:
    assert matches_workflow(reference, pattern) is fits


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("octo/copies", True),
        ("octo/copies:7", True),
        ("octo/copies:8", False),
        ("octo/*:5", True),
        ("octo/*:6", False),
        ("octopus/*", False),
    ],
)
def test_an_id_binds_where_it_is_named(pattern: str, fits: bool) -> None:
    claims = {"repository": "Octo/Copies", "repository_id": "7", "repository_owner_id": "5"}
    assert matches_repository(claims, pattern) is fits
