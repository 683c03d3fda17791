"""Runs a job that profiles a case of one revision, or of two revisions to compare them."""

from runner.contract.job import ProfileQuestion
from runner.contract.profile import Profile
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.profile.revision_profiler import Profiler
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.subject.source_change import read_source_change


def run(job: ClaimedJob) -> JobResult:
    """Profile the case, send the profiles, and return their ids; the revision to compare with comes first.

    Raises
    ------
    JobStopped, FaultwatchError
        As :meth:`ClaimedJob.announce_runs` does; also if a revision cannot be built or profiled.
    """
    question = job.question
    assert isinstance(question, ProfileQuestion)
    outbox = Outbox(Spool(job.settings.spool), job.service.send)
    outbox.deliver(at_once=True)
    profiler = Profiler(job.repository, job.workload, job.case, job.bench, job.builder)
    revisions = [revision for revision in (question.against, question.revision) if revision is not None]
    profiles: list[Profile] = []
    for position, revision in enumerate(revisions, 1):
        job.announce_runs()
        profile = profiler.profile(revision, job.report_progress)
        if profiles:
            commits = profiles[0].revision.commit, profile.revision.commit
            profile = read_source_change(job.repository, *commits).add_to_profile(profile, profiles[0])
        outbox.post_now(profile)
        profiles.append(profile)
        job.report_measured_runs(f"{profile.revision.commit[:10]} has been profiled.", len(revisions) - position)
    names = " and ".join(profile.revision.commit[:10] for profile in profiles)
    return JobResult(f"Profiled: {names}.", {"profiles": [str(profile.profile_id) for profile in profiles]})
