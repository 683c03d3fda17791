"""Builds and profiles revisions."""

from msgspec import Struct

from runner.contract.profile import Profile
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.measuring.cold_files import EvictionError
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.program_failure import ExecutionFailure
from runner.profile.case_profiler import Progress, collect_profile
from runner.profile.perf_record_options import CallGraph
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.workload import Workload


class Profiler(Struct, frozen=True):
    """Profiles one case of any revision of a repository."""

    repository: Repository
    workload: Workload
    case: Case
    bench: Bench
    builder: Builder
    call_graph: CallGraph | None = None

    def profile(self, revision: str, progress: Progress = lambda _: None) -> Profile:
        """Build a revision, profile its case, and return the profile.

        Raises
        ------
        FaultwatchError
            The revision does not build, fails, or cannot be profiled on this host.
        """
        resolved_revision = self.repository.get_revision(revision)
        short_commit, name = resolved_revision.commit[:10], self.case.name
        progress(f"building {short_commit}")
        try:
            tree, build = self.builder.build(self.repository, resolved_revision.commit, self.workload)
            subject = Subject(self.repository.name, resolved_revision, self.case, build)
            trial = Trial(self.workload, subject, self.bench, tree)
            if trial.obstacle:
                raise FaultwatchError(f"{name} cannot be profiled on this host: {trial.obstacle}")
            return collect_profile(
                trial, call_graph=self.call_graph, progress=lambda text: progress(f"{short_commit}: {text}")
            )
        except BuildFailure as failure:
            raise FaultwatchError(f"{short_commit} cannot be built: {failure.message}") from None
        except ExecutionFailure as failure:
            raise FaultwatchError(f"{short_commit}, {name}: {failure.message}") from None
        except EvictionError as error:
            raise FaultwatchError(f"{name} cannot be profiled on this host: {error}") from None
