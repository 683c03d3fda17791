"""Chooses how the stacks of a program are unwound: by frame pointers or by unwind tables."""

from runner.measuring.trial import Trial
from runner.profile.elf import choose_call_graph, find_go_file
from runner.profile.recording_plan import CallGraph
from runner.profile.stack_folding import make_relative


def choose_unwinding(trial: Trial) -> tuple[CallGraph, tuple[str, ...]]:
    """Return how to unwind the stacks of a case, and a remark if it is a Go program, even if a shell starts it."""
    go = find_go_file(trial.own_files)
    if go is None:
        return choose_call_graph(trial.program), ()
    name = make_relative(str(go.resolve()), f"{trial.tree.resolve()}/")
    return "fp", (
        (
            f"stacks are unwound with frame pointers (--call-graph fp), because {name} is a Go program, and Go "
            f"keeps them"
        ),
    )
