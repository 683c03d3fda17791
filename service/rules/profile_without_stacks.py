"""Summarises a profile without its stacks."""

from __future__ import annotations

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Profile
from service.rules.diagnose.diagnosis import diagnose_profile
from service.rules.diagnose.profile_facts import Facts
from service.schemas.profile_summaries import ProfileSummary, ProfileWithoutStacks, StackHead


def summarise_profile(profile: Profile) -> ProfileWithoutStacks:
    """Return a profile without its stacks, with its diagnosis."""
    same_fields = profile.model_dump(
        include={"profile_id", "subject", "runner_version", "started_at", "finished_at", "scope", "processes"}
    )
    return ProfileWithoutStacks(
        **same_fields,
        revision=profile.revision,
        case=profile.case,
        host=profile.host.name,
        environment=profile.environment.hash,
        operations=profile.operations,
        overhead_percent=profile.overhead_percent,
        kinds=[
            StackHead(
                kind=stacks.kind,
                samples=stacks.samples,
                period=stacks.period,
                total=stacks.total,
                lost=stacks.lost,
                call_graph=stacks.call_graph,
                stacks=len(stacks.stacks),
            )
            for stacks in profile.stack_profiles
        ],
        anatomy=profile.anatomy,
        census=profile.census,
        python_lines=profile.python_lines,
        java_lines=profile.java_lines,
        remarks=list(profile.remarks),
        diagnosis=diagnose_profile(DiagnosisRequest(profile=profile)),
        seconds_per_fault=Facts.from_profile(profile).seconds_per_fault,
    )


def build_list_entry(summary: ProfileWithoutStacks) -> ProfileSummary:
    """Return the entry of a profile in a list."""
    return ProfileSummary(
        profile_id=summary.profile_id,
        subject=summary.subject,
        host=summary.host,
        case=summary.case.name,
        revision=summary.revision.commit,
        title=summary.revision.title,
        environment=summary.environment,
        started_at=summary.started_at,
        faults=summary.faults,
        diagnosis=[finding.rule for finding in summary.diagnosis.findings],
    )
