"""Shows the progress of proofs."""

from runner.cli.activity import Activity, time_spent
from runner.cli.formatting import count_of
from runner.cli.terminal import say
from runner.contract.comparison import Verdict
from runner.contract.report import Case

_WORDS = {
    Verdict.CHANGED: "proven: {pairs} differ",
    Verdict.SAME: "refuted: {pairs} do not differ",
    Verdict.NEEDS_MORE_RUNS: "not decided after {pairs}",
}


class ProofProgress:
    """Follows proofs as an activity."""

    def __init__(self, shown: Activity) -> None:
        self._shown = shown
        self._case = ""

    def proving(self, base: str, head: str, case: Case, left: float) -> None:
        """Show what is compared, and how much time is left for proofs."""
        self._case = case.name
        self._shown(f"proving {base[:10]}..{head[:10]} {case.name}, at most {time_spent(left)} left for proofs")

    def executed(self) -> None:
        """Count an execution."""
        self._shown.advance()

    def proven(self, base: str, head: str, verdict: Verdict, pairs: int) -> None:
        """Say what was decided."""
        words = _WORDS[verdict].format(pairs=f"{count_of(pairs, 'interleaved pair')}")
        say(f"  {base[:10]}..{head[:10]} {self._case} {words}")
