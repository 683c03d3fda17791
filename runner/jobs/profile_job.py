"""A job that profiles a case of one revision, or of two so that they can be told apart."""

from runner.contract.job import ProfileQuestion
from runner.jobs.claimed_job import Ended, Work
from runner.profile.profiler import Profiler
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool


def carry_out(work: Work) -> Ended:
    """Profile, send, and say which profiles there are now; the one before comes first."""
    asked = work.question
    assert isinstance(asked, ProfileQuestion)
    outbox = Outbox(Spool(work.settings.spool), work.service.send)
    outbox.deliver(at_once=True)
    profiler = Profiler(work.repository, work.workload, work.case, work.bench, work.builder)
    revisions = [revision for revision in (asked.against, asked.revision) if revision is not None]
    made = []
    for place, revision in enumerate(revisions, 1):
        work.about_to_measure()
        profile = profiler.profile(revision, work.say)
        outbox.post(profile)
        outbox.deliver(at_once=True)
        if outbox.trouble:
            raise outbox.trouble
        made.append(profile)
        work.measured(f"{profile.revision.commit[:10]} is profiled.", len(revisions) - place)
    names = " and ".join(one.revision.commit[:10] for one in made)
    return Ended(f"Profiled: {names}.", {"profiles": [str(one.profile_id) for one in made]})
