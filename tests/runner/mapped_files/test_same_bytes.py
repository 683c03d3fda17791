"""The same bytes count the same, however they came into the page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.contract.files import CacheState
from runner.contract.report import Outcome, Status
from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox, sandbox
from runner.mapped_files.cache_state import CacheStates
from runner.mapped_files.folios import lie_plainly
from runner.measuring.page_cache import resident_pages
from tests.runner.mapped_files.made import WAYS, built, by_cp, copied, measured

pytestmark = pytest.mark.perf
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay copies over files, or see how pages lie")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("source") / "tree")


@pytest.fixture(params=["bare", "sandboxed"])
def box(request: pytest.FixtureRequest) -> Sandbox | None:
    if request.param == "bare":
        return None
    try:
        return sandbox()
    except FaultwatchError as error:
        pytest.skip(str(error))


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder that an unprivileged user can reach, and owns."""
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        yield Path(folder)


def test_the_same_bytes_count_the_same(source: Path, tmp_path: Path, box: Sandbox | None) -> None:
    tmp_path.chmod(0o755)
    reports = [measured(copied(source, tmp_path / way.__name__, way), sandbox=box) for way in WAYS]
    assert all(report.outcome is Outcome.MEASURED for report in reports)
    assert len({value for report in reports for value in report.values("minor-faults")}) == 1
    assert len({report.values("major-faults") for report in reports}) == 1
    assert {report.files.own_bytes for report in reports if report.files} != {""}
    assert len({(report.files.own_bytes, report.files.system_bytes) for report in reports if report.files}) == 1


def test_every_file_is_known_that_the_program_maps(source: Path) -> None:
    report = measured(source)
    assert report.files
    mapped = {file.path: file for file in report.files.mapped}
    assert {"program", "libwork.so", "data"} <= mapped.keys()
    assert all(mapped[name].own for name in ("program", "libwork.so", "data"))
    assert any(Path(name).name.startswith("libc.so") and not file.own for name, file in mapped.items())
    assert {file.cache for file in mapped.values()} <= {CacheState.MADE, CacheState.COPY}
    assert all(file.digest and file.faults for file in mapped.values())
    assert report.files.doubt.most == 0
    for name in ("program", "libwork.so", "data"):
        there, pages = resident_pages(source / name)
        assert there == pages


def test_faults_are_told_apart_by_what_they_hit(source: Path) -> None:
    report = measured(source)
    files, rest, kernel = (report.values(name) for name in ("file-faults", "anonymous-faults", "kernel-faults"))
    assert files[0] + rest[0] == report.values("page-faults")[0]
    assert files[0] > 30  # Sixty places in two megabytes, sixteen pages at a time.
    assert not kernel or kernel[0] < rest[0]
    together = measured(source, processes=2)
    assert {one.status for one in together.readings("file-faults")} == {Status.NOT_SUPPORTED}


@needs_root
@pytest.mark.parametrize("way", WAYS)
def test_each_page_is_put_into_memory_by_itself(
    source: Path, tmp_path: Path, way: Callable[[Path, Path], None]
) -> None:
    file = tmp_path / "library"
    way(source / "libwork.so", file)
    states = CacheStates()
    made = states.make(file)
    assert (made.cache, states.holds(file)) == (CacheState.MADE, True)
    with file.open("rb") as opened:
        assert lie_plainly(opened.fileno())
    assert not states.make(file).changed


@needs_root
def test_a_file_that_others_map_is_replaced_by_a_private_copy(
    source: Path, tmp_path: Path, box: Sandbox | None
) -> None:
    tmp_path.chmod(0o755)
    plain = measured(copied(source, tmp_path / "plain", WAYS[1]), sandbox=box)
    tree = copied(source, tmp_path / "other", by_cp)
    # In large folios, and mapped by this process: it cannot be put out of memory.
    with (tree / "libwork.so").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        pages = memory[::4096]
        assert pages
        shared = measured(tree, sandbox=box)
    assert shared.files
    states = {file.path: file.cache for file in shared.files.mapped}
    with (tree / "libwork.so").open("rb") as file:
        if lie_plainly(file.fileno()):
            pytest.skip("this file system has no large folios")
    assert states["libwork.so"] is CacheState.COPY
    assert set(shared.values("minor-faults")) == set(plain.values("minor-faults"))
    assert not shared.remarks


@needs_root
def test_who_may_neither_copy_nor_look_is_told_how_much_is_in_doubt(source: Path, nobodys: Path) -> None:
    tree = copied(source, nobodys / "tree", WAYS[1])
    for path in (tree, *tree.iterdir()):
        os.chown(path, 65534, 65534)
    found = _as_nobody(nobodys, lambda: measured(tree).model_dump_json(include={"files", "remarks", "failure"}))
    assert '"failure":null' in found
    assert '"path":"program","own":true' in found
    assert '"cache":"left"' in found
    assert "libc.so.6 could not be put into a defined state" in found
    assert "a private copy needs root or a sandbox" in found
    assert '"doubt":{"least":0,"most":0}' not in found


def test_a_cold_file_stays_cold(source: Path, tmp_path: Path) -> None:
    tree = copied(source, tmp_path / "tree", by_cp)
    report = measured(tree, page_cache="cold", files=["libwork.so"])
    if report.failure:
        pytest.skip(report.failure.message)
    assert all(value > 0 for value in report.values("major-faults"))
    assert report.files
    assert "libwork.so" not in {file.path for file in report.files.mapped}
    assert "program" in {file.path for file in report.files.mapped}


def test_what_is_read_is_part_of_the_bytes_and_what_is_written_is_not(source: Path, tmp_path: Path) -> None:
    def own_bytes(name: str, **texts: str) -> str:
        tree = copied(source, tmp_path / name, by_cp)
        for file, text in texts.items():
            (tree / file).write_text(text)
        report = measured(tree, "table")
        assert report.files
        return report.files.own_bytes

    first = own_bytes("one")
    assert first
    assert own_bytes("two", README="Other words.\n") == first
    assert own_bytes("six", table="other table\n") != first


def test_the_folder_of_a_build_is_no_part_of_its_bytes(tmp_path: Path) -> None:
    def own_bytes(name: str) -> str:
        tree = built(tmp_path / name)
        words = ["cc", "-g", "-O1", "-Wl,--build-id", "-o", "program", tree / "program.c", "-ldl"]
        subprocess.run(words, cwd=tree, check=True)
        assert os.fsencode(name) in (tree / "program").read_bytes()
        report = measured(tree)
        assert report.files
        return report.files.own_bytes

    assert own_bytes("folder_1") == own_bytes("folder_2") != ""


def _as_nobody(folder: Path, work: Callable[[], str]) -> str:
    """Do something as an unprivileged user, in a process of its own."""
    home, said = folder / "home", folder / "said"
    home.mkdir()
    os.chown(home, 65534, 65534)
    child = os.fork()
    if child == 0:
        try:
            os.environ |= {"FAULTWATCH_HOME": str(home), "HOME": str(home)}
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # Its own files in /proc are its own again.
            said.write_text(work())
        except BaseException as error:
            said.write_text(f"{type(error).__name__}: {error}")
            raise
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return said.read_text()
