"""What is shown of a profile without its stacks. Pure."""

from __future__ import annotations

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Profile
from service.rules.diagnose import diagnose
from service.schemas.profiles import ProfileGist, ProfileSummary, StackHead


def summarise_profile(profile: Profile) -> ProfileGist:
    """Return what is told of a profile without its stacks."""
    told = profile.model_dump(
        include={"profile_id", "subject", "runner_version", "started_at", "finished_at", "scope", "processes"}
    )
    return ProfileGist(
        **told,
        revision=profile.revision,
        case=profile.case,
        host=profile.host.name,
        environment=profile.environment.hash,
        operations=profile.operations,
        overhead_percent=profile.overhead_percent,
        kinds=[
            StackHead(
                kind=one.kind,
                samples=one.samples,
                period=one.period,
                total=one.total,
                lost=one.lost,
                call_graph=one.call_graph,
                stacks=len(one.stacks),
            )
            for one in profile.stack_profiles
        ],
        anatomy=profile.anatomy,
        census=profile.census,
        remarks=list(profile.remarks),
        diagnosis=diagnose(DiagnosisRequest(profile=profile)),
    )


def list_entry(told: ProfileGist) -> ProfileSummary:
    """Return a line of a list."""
    return ProfileSummary(
        profile_id=told.profile_id,
        subject=told.subject,
        host=told.host,
        case=told.case.name,
        revision=told.revision.commit,
        title=told.revision.title,
        environment=told.environment,
        started_at=told.started_at,
        faults=told.faults,
        diagnosis=[finding.rule for finding in told.diagnosis.findings],
    )
