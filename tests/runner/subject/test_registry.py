"""Where a subject is on this host, and that one measurement waits for the other."""

import subprocess
import sys
from pathlib import Path

from runner.host.lock import alone
from runner.settings import Settings
from runner.subject.registry import Known, recall, remember
from runner.subject.repository import Repository
from runner.workload import load_workload

ROOT = Path(__file__).parents[3]
COPIES = load_workload(ROOT / "workloads" / "copy_service")
OTHER = load_workload(ROOT / "workloads" / "tensor_copy")


def test_each_workload_of_a_subject_is_remembered(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", None, "box")
    repository = Repository(tmp_path, "copies")
    for workload in (COPIES, OTHER, COPIES):
        remember(settings, repository, workload)
    workloads = {one.name: str(one.path) for one in (COPIES, OTHER)}
    assert recall(settings, "copies") == Known(str(tmp_path), workloads)
    assert recall(settings, "other") == Known()


def test_a_clone_is_remembered_by_its_address(tmp_path: Path) -> None:
    settings = Settings(tmp_path, None, "box")
    clone = settings.clones / "copies-1.git"
    for words in (("init", "--quiet", "--bare"), ("remote", "add", "origin", "https://git.example.org/copies")):
        subprocess.run(["git", "-C", str(clone), *words] if words[0] != "init" else ["git", *words, clone], check=True)
    remember(settings, Repository(clone, "copies"), COPIES)
    assert recall(settings, "copies").repository == "https://git.example.org/copies"


def test_a_damaged_file_is_nothing_known_and_no_reason_to_fail(tmp_path: Path) -> None:
    settings = Settings(tmp_path, None, "box")
    (tmp_path / "subjects").mkdir()
    for text in ("", "[]", '{"repository": 1}', '{"repository": "x", "workloads": []}'):
        (tmp_path / "subjects" / "copies.json").write_text(text)
        assert recall(settings, "copies") == Known()
    remember(settings, Repository(tmp_path, "copies"), COPIES)
    assert recall(settings, "copies").workloads


def test_a_second_measurement_waits_and_says_so(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from runner.host.lock import alone; from runner.settings import Settings\n"
        "with alone(Settings(Path(sys.argv[1]), None, 'box'), lambda text: print(text, flush=True)): print('mine')"
    )
    with alone(Settings(tmp_path, None, "box"), print):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout
        assert "another measurement is under way" in other.stdout.readline()
    assert other.communicate(timeout=60)[0] == "mine\n"
