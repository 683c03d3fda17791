import os
import stat
from pathlib import Path

import pytest

from runner.system.private_folder import make_private_folder


@pytest.mark.parametrize("before", [None, 0o755, 0o700, 0o500])
def test_nobody_else_may_enter_a_private_folder(before: int | None, tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        folder = tmp_path / "home" / "spool"
        if before is not None:
            folder.mkdir(parents=True)
            folder.chmod(before)
        assert make_private_folder(folder) == folder
    finally:
        os.umask(umask)
    assert stat.S_IMODE(folder.stat().st_mode) == (before or 0o700) & 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o755
