"""The commits that a drift is blamed on, against real git.

2,000 random histories with merges: the candidates of a drift between two measured revisions are what ``git rev-list``
lists, whichever two revisions are neighbours in the series. Real git answers for a part of the histories, and the model
that is compared with git there answers for the rest.
"""

import random
import tempfile
from pathlib import Path

from bench.verdicts import histories
from service.rules.series.candidate_commits import are_all_known, list_commits_between

HISTORIES = 2000
REAL = 60
"""Histories that are written as git repositories."""
PAIRS = 5


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Return the figures and the misses."""
    random_ = random.Random(seed)
    wrong = model_wrong = pairs = several = unknown = 0
    for number in range(HISTORIES):
        history = histories.grow_history(random_, random_.choice([12, 40, 120, 400]))
        names = list(history.parents)
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
            git = histories.GitHistory(Path(folder), history) if number < REAL else None
            for _ in range(PAIRS):
                before, after = (names[place] for place in sorted(random_.sample(range(len(names)), 2)))
                model = set(history.between(before, after))
                truth = git.rev_list(before, after) if git else model
                model_wrong += model != truth
                wrong += list_commits_between(history.parents, before, after) != truth
                unknown += not are_all_known(history.parents, before, after)
                several += len(truth) > 1
                pairs += 1
    figures: dict[str, object] = {
        "histories": HISTORIES,
        "histories_in_git": REAL,
        "pairs": pairs,
        "pairs_with_several_candidates": several,
        "differs_from_rev_list": wrong,
        "model_differs_from_git": model_wrong,
    }
    misses = []
    if wrong or model_wrong or unknown:
        misses.append(f"of {pairs} blamed pairs {wrong} differ from git rev-list ({model_wrong} in the model)")
    return figures, misses
