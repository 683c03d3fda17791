"""Another command that measures, until its standard input ends."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = """
import sys
from pathlib import Path
from runner.host.host_turn import HostTurn
with HostTurn(Path(sys.argv[1]), lambda text: print(text, flush=True)) as turn:
    turn.begin()
    print("mine", flush=True)
    sys.stdin.read()
"""


def other(lock: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CODE, str(lock), "https://me:secret@example.invalid/x.git"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
