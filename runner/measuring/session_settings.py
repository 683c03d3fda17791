"""Settings of a session that the host does not show: the scope of the counts, the length of paths, the sandbox."""

from pathlib import Path

from runner.system.path_length import compute_path_length


def build_session_settings(scope: str, builds: Path, *, sandboxed: bool) -> dict[str, str]:
    """Return the settings of a session, which become a part of the environment of each run.

    Parameters
    ----------
    scope
        Which faults are counted: ``user+kernel``, or ``user`` if those inside the kernel are not counted.
    builds
        The folder of the builds; the length of its path changes the stack of a program.
    sandboxed
        Whether programs are built and executed in the sandbox.
    """
    return {
        "counting.scope": scope,
        "process.path_length": str(compute_path_length(builds)),
        "process.sandbox": "bubblewrap" if sandboxed else "none",
    }
