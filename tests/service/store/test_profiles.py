"""Profiles in the database: found again, and thinned by retention."""

from __future__ import annotations

from datetime import timedelta

from runner.contract.profile import Frame, StackKind, Touch
from runner.contract.report import Environment
from service.store import profiles
from service.store.engine.database import Database
from service.store.maintenance.retention import RetentionRule, apply_rule
from service.store.profiles import ProfileFilter
from tests.service.profiles import MAIN, NOW, anatomy, profile, stacks


def test_retention_puts_light_stacks_together_and_keeps_every_sum(database: Database) -> None:
    frames = (Frame(function="main"), *(Frame(function=f"leaf{number}") for number in range(500)))
    weights = {(MAIN, number): number for number in range(1, 501)}
    sent = profile(
        anatomy({Touch.FIRST: sum(weights.values())}),
        frames=frames,
        faults=stacks(StackKind.FAULTS, weights),
        on_cpu=None,
        off_cpu=None,
    )
    prepared = profiles.prepare_profile(sent)
    with database.writing() as session:
        profiles.store_profile(session, prepared)
    later = NOW + timedelta(days=1)
    assert apply_rule(database, RetentionRule(thin_before=NOW)).profiles_thinned == 0
    assert apply_rule(database, RetentionRule(thin_before=later)).profiles_thinned == 1
    assert apply_rule(database, RetentionRule(thin_before=later)).profiles_thinned == 0
    with database.reading() as session:
        left = profiles.find_profile(session, sent.profile_id)
    assert left is not None
    assert left.faults is not None
    assert left.faults.total == sent.anatomy.counted if sent.anatomy else False
    assert len(left.faults.stacks) == 201
    heaviest = left.faults.stacks[0]
    assert [left.frames[place].function for place in heaviest.frames] == ["main", "leaf499"]
    assert left.anatomy == sent.anatomy
    with database.writing() as session:
        assert profiles.store_profile(session, prepared) is profiles.StoreResult.KNOWN


def test_the_newest_profile_of_the_environment_is_preferred(database: Database) -> None:
    here, there = Environment(settings={"a": "1"}), Environment(settings={"a": "2"})
    old = profile(anatomy({Touch.FIRST: 1}), environment=here)
    new = profile(anatomy({Touch.FIRST: 1}), environment=there, started_at=NOW + timedelta(hours=1))
    with database.writing() as session:
        for one in (old, new):
            profiles.store_profile(session, profiles.prepare_profile(one))
    with database.reading() as session:
        asked = ProfileFilter(subject="subject", revision=old.revision.commit)
        assert profiles.find_newest_profile_id(session, asked) == new.profile_id
        assert profiles.find_newest_profile_id(session, asked, here.hash) == old.profile_id
        assert profiles.find_newest_profile_id(session, asked, "unheard of") == new.profile_id
        assert profiles.find_newest_profile_id(session, ProfileFilter(host="elsewhere")) is None
