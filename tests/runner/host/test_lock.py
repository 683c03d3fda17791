"""One measurement at a time."""

import subprocess
import sys
from pathlib import Path

from runner.host.lock import host_lock
from runner.settings import Settings

ROOT = Path(__file__).parents[3]


def test_a_second_measurement_waits_and_says_so(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from runner.host.lock import host_lock; from runner.settings import Settings\n"
        "with host_lock(Settings(Path(sys.argv[1]), None, 'box'), lambda text: print(text, flush=True)): print('mine')"
    )
    with host_lock(Settings(tmp_path, None, "box"), print):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout
        assert "another measurement is running" in other.stdout.readline()
    assert other.communicate(timeout=60)[0] == "mine\n"
