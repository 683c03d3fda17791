"""Boot guests for as long as a command runs: `python -m tests.hosts runner service -- COMMAND`.

The command finds an inventory of them in $INVENTORY; without a command it is a shell.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.hosts.container import containers
from tests.hosts.image import UNPACKED


def main(arguments: list[str]) -> int:
    """Boot what is named, run what follows `--`, and end it all."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, command = arguments[:cut], arguments[cut + 1 :]
    bare = "--bare" in names
    names = [name for name in names if name != "--bare"] or ["guest"]
    with containers(*names, packages=() if bare else UNPACKED) as guests, tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "hosts"
        inventory.write_text("".join(f"{guest.line}\n" for guest in guests.values()), encoding="utf-8")
        print(inventory.read_text(encoding="utf-8"), end="", flush=True)
        shell = command or [os.environ.get("SHELL", "/bin/sh")]
        return subprocess.run(shell, check=False, env=os.environ | {"INVENTORY": str(inventory)}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
