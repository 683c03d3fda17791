"""Reports and profiles for tests that do not care what was measured."""

import uuid
from datetime import UTC, datetime

from runner.contract.profile import Profile
from runner.contract.report import Case, Environment, Host, Outcome, Reading, Report, Revision, Sample


def report(number: int | None = None) -> Report:
    """Return a report; of a number always the same one."""
    now = datetime.now(UTC) if number is None else datetime(2025, 1, 1, tzinfo=UTC)
    return Report(
        run_id=uuid.uuid4() if number is None else uuid.UUID(int=number),
        subject="subject",
        revision=Revision(commit="a" * 40, committed_at=now),
        case=Case(workload="w", definition="0" * 16),
        host=Host(name="host"),
        environment=Environment(settings={"kernel.release": "6"}),
        runner_version="0",
        started_at=now,
        finished_at=now,
        outcome=Outcome.MEASURED,
        samples=(Sample(readings={"minor-faults": Reading(value=2**53 + 1)}),),
    )


def profile() -> Profile:
    """Return a profile in which nothing was recorded."""
    one = report()
    return Profile(
        profile_id=uuid.uuid4(),
        subject=one.subject,
        revision=one.revision,
        case=one.case,
        host=one.host,
        environment=one.environment,
        runner_version="0",
        started_at=one.started_at,
        finished_at=one.finished_at,
        scope="process",
        readings={},
    )
