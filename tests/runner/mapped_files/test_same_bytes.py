"""The same bytes count the same, however they came into the page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.contract.mapped_files import CacheState
from runner.contract.report import Outcome, Status
from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox, create_sandbox
from runner.mapped_files.cache_preparation import CachePreparer
from runner.mapped_files.folios import has_prepared_folios
from runner.measuring.cold_files import count_resident_pages
from runner.measuring.sampling import compute_levels
from tests.runner.mapped_files.sample_programs import WAYS, build, by_cp, copy_build, measure_build

pytestmark = pytest.mark.perf
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can mount copies over files, or read the state of folios"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("source") / "tree")


@pytest.fixture(params=["bare", "sandboxed"])
def box(request: pytest.FixtureRequest) -> Sandbox | None:
    if request.param == "bare":
        return None
    try:
        return create_sandbox()
    except FaultwatchError as error:
        pytest.skip(str(error))


@pytest.fixture
def unprivileged_folder() -> Iterator[Path]:
    """A folder that an unprivileged user owns and can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        yield Path(folder)


def test_the_same_bytes_count_the_same(source: Path, tmp_path: Path, box: Sandbox | None) -> None:
    tmp_path.chmod(0o755)
    reports = [measure_build(copy_build(source, tmp_path / way.__name__, way), sandbox=box) for way in WAYS]
    assert all(report.outcome is Outcome.MEASURED for report in reports)
    # The level of a run, as its verdicts use it: a single execution can be disturbed by what else the host does.
    for name in ("minor-faults", "major-faults"):
        assert len({compute_levels(report.samples)[name] for report in reports}) == 1
    assert {report.files.own_bytes for report in reports if report.files} != {""}
    assert len({(report.files.own_bytes, report.files.system_bytes) for report in reports if report.files}) == 1


def test_every_file_that_the_program_maps_is_reported(source: Path) -> None:
    report = measure_build(source)
    assert report.files
    mapped = {file.path: file for file in report.files.mapped}
    assert {"program", "libwork.so", "data"} <= mapped.keys()
    assert all(mapped[name].in_build for name in ("program", "libwork.so", "data"))
    assert any(Path(name).name.startswith("libc.so") and not file.in_build for name, file in mapped.items())
    assert {file.cache for file in mapped.values()} <= {CacheState.PREPARED, CacheState.COPY}
    assert all(file.digest and file.faults for file in mapped.values())
    assert report.files.uncertain_faults.highest == 0
    for name in ("program", "libwork.so", "data"):
        resident, pages = count_resident_pages(source / name)
        assert resident == pages


def test_faults_are_counted_by_what_they_hit(source: Path) -> None:
    # If the host disturbs the watched execution, no sample has the count that was watched.
    report = next(report for report in (measure_build(source) for _ in range(3)) if report.list_values("file-faults"))
    files, rest, kernel = (report.list_values(name) for name in ("file-faults", "anonymous-faults", "kernel-faults"))
    assert files[0] + rest[0] == report.list_values("page-faults")[0]
    assert files[0] > 30  # Sixty places in two megabytes, sixteen pages at a time.
    assert not kernel or kernel[0] < rest[0]
    together = measure_build(source, processes=2)
    assert {reading.status for reading in together.list_readings("file-faults")} == {Status.NOT_SUPPORTED}


@needs_root
@pytest.mark.parametrize("way", WAYS)
def test_each_page_becomes_a_folio_by_itself(source: Path, tmp_path: Path, way: Callable[[Path, Path], None]) -> None:
    file = tmp_path / "library"
    way(source / "libwork.so", file)
    for attempt in range(3):  # A host that pages out what nobody uses may have done so in between.
        preparer = CachePreparer()
        assert preparer.prepare(file).cache is CacheState.PREPARED
        if preparer.is_prepared(file) or attempt == 2:
            break
    assert preparer.is_prepared(file)
    with file.open("rb") as opened:
        assert has_prepared_folios(opened.fileno())
    assert not preparer.prepare(file).changed


@needs_root
def test_a_file_that_others_map_is_replaced_by_a_private_copy(
    source: Path, tmp_path: Path, box: Sandbox | None
) -> None:
    tmp_path.chmod(0o755)
    alone = measure_build(copy_build(source, tmp_path / "alone", WAYS[1]), sandbox=box)
    tree = copy_build(source, tmp_path / "other", by_cp)
    # In large folios, and mapped by this process, so that it cannot be evicted.
    with (tree / "libwork.so").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        pages = memory[::4096]
        assert pages
        shared = measure_build(tree, sandbox=box)
    assert shared.files
    states = {file.path: file.cache for file in shared.files.mapped}
    with (tree / "libwork.so").open("rb") as file:
        if has_prepared_folios(file.fileno()):
            pytest.skip("this file system has no large folios")
    assert states["libwork.so"] is CacheState.COPY
    # The levels: a single execution can be disturbed by what else the host does.
    assert compute_levels(shared.samples)["minor-faults"] == compute_levels(alone.samples)["minor-faults"]
    assert not shared.remarks


@needs_root
def test_an_unprivileged_user_learns_how_many_faults_are_uncertain(source: Path, unprivileged_folder: Path) -> None:
    tree = copy_build(source, unprivileged_folder / "tree", WAYS[1])
    for path in (tree, *tree.iterdir()):
        os.chown(path, 65534, 65534)
    report = _as_nobody(
        unprivileged_folder, lambda: measure_build(tree).model_dump_json(include={"files", "remarks", "failure"})
    )
    assert '"failure":null' in report
    assert '"path":"program","in_build":true' in report
    assert '"cache":"unprepared"' in report
    assert "libc.so.6 could not be prepared" in report
    assert "a private copy of the file requires root or a sandbox" in report
    assert '"uncertain_faults":{"lowest":0,"highest":0}' not in report


def test_a_cold_file_stays_cold(source: Path, tmp_path: Path) -> None:
    tree = copy_build(source, tmp_path / "tree", by_cp)
    report = measure_build(tree, page_cache="cold", files=["libwork.so"])
    if report.failure:
        pytest.skip(report.failure.message)
    assert all(value > 0 for value in report.list_values("major-faults"))
    assert report.files
    assert "libwork.so" not in {file.path for file in report.files.mapped}
    assert "program" in {file.path for file in report.files.mapped}


def test_files_that_are_read_count_as_bytes_and_written_ones_do_not(source: Path, tmp_path: Path) -> None:
    def own_bytes(name: str, **texts: str) -> str:
        tree = copy_build(source, tmp_path / name, by_cp)
        for file, text in texts.items():
            (tree / file).write_text(text)
        report = measure_build(tree, "table")
        assert report.files
        return report.files.own_bytes

    first = own_bytes("one")
    assert first
    assert own_bytes("two", README="Other words.\n") == first
    assert own_bytes("six", table="other table\n") != first


def _as_nobody(folder: Path, work: Callable[[], str]) -> str:
    """Run a function as an unprivileged user, in its own process."""
    home, output = folder / "home", folder / "output"
    home.mkdir()
    os.chown(home, 65534, 65534)
    child = os.fork()
    if child == 0:
        try:
            os.environ |= {"FAULTWATCH_HOME": str(home), "HOME": str(home)}
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its files in /proc belong to it again.
            output.write_text(work())
        except BaseException as error:
            output.write_text(f"{type(error).__name__}: {error}")
            raise
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return output.read_text()
