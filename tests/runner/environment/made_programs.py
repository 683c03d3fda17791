"""Programs of a made-up host."""

import os
from pathlib import Path


def tool(folder: Path, name: str, text: str = "#!/bin/sh\n", modified: float = 1e9) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    os.utime(file, (modified, modified))
    return file
