"""The quick part of the physics: the workloads build without a warning, and count to the fault what theory demands."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import physics
from runner.contract.level import find_majority
from runner.measuring.cold_files import EvictionError, count_resident_pages, make_files_cold
from runner.workload import list_cases, load_workload

pytestmark = pytest.mark.perf
REGION = physics.WORKLOADS / "region"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workloads")


def built(builds: Path, name: str, *targets: str) -> Path:
    folder = builds / name
    if not folder.exists():
        if name == "fortran_init" and not shutil.which("gfortran"):
            pytest.skip("no gfortran on this host")
        shutil.copytree(physics.WORKLOADS / name, folder)
        done = subprocess.run(["make", "-s", *targets], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    return folder


@pytest.mark.parametrize("name", physics.PARTS)
def test_every_case_of_the_file_can_be_filled_in(name: str) -> None:
    workload = load_workload(physics.WORKLOADS / name)
    assert workload.name == name
    assert list_cases(workload)


@pytest.mark.parametrize(
    "command",
    [
        "tensor_copy --mib 1 --steps 20 --buffer mapped",
        pytest.param("tensor_copy --mib 1 --steps 20 --buffer populate", marks=pytest.mark.thorough),
        pytest.param("matrix_scan --scans 64 --access read", marks=pytest.mark.thorough),
        "matrix_scan --scans 64 --access mmap",
        pytest.param("matrix_scan --scans 64 --access mmap --order column", marks=pytest.mark.thorough),
        pytest.param("matrix_scan --scans 64 --access populate", marks=pytest.mark.thorough),
        "fortran_init static 3",
        "image_filter --images 3 --temporaries mapped",
        pytest.param("image_filter --images 3 --temporaries populate", marks=pytest.mark.thorough),
        pytest.param("image_filter --images 3 --temporaries row", marks=pytest.mark.thorough),
        pytest.param("gallery_search --mib 8 --count load --memory private", marks=pytest.mark.thorough),
        pytest.param("gallery_search --mib 8 --count load --memory private_populate", marks=pytest.mark.thorough),
        "gallery_search --mib 8 --count load --memory shared",
        "gallery_search --mib 8 --count load --memory shared_populate",
    ],
)
def test_a_program_that_maps_its_memory_itself_counts_theory_to_the_fault(builds: Path, command: str) -> None:
    program, *arguments = command.split()
    folder = built(builds, program)
    # As everywhere more than half of the samples say what the count is: on a busy host one may be off by a page.
    runs = physics.take_undisturbed_samples(folder, (f"./{program}", *arguments))
    level, _ = find_majority([run.minor - run.document["faults"] for run in runs]) or (None, 0)
    assert level == 0


@pytest.mark.parametrize(
    "command",
    [
        "matrix_scan --scans 64 --threads 4 --access mmap",
        "gallery_search --mib 8 --searches 4 --fill first_search --memory private",
        "gallery_search --mib 8 --searches 4 --fill first_search --memory shared_populate",
    ],
)
def test_threads_add_at_most_two_faults_each(builds: Path, command: str) -> None:
    program, *arguments = command.split()
    run = physics.take_undisturbed_samples(built(builds, program), (f"./{program}", *arguments))[0]
    assert abs(run.minor - run.document["faults"]) <= 2 * 4


@pytest.mark.parametrize(
    "command",
    [
        "tensor_copy --mib 4 --steps 50 --buffer fresh",
        "fortran_init per_step 5",
        "image_filter --images 3 --temporaries malloc",
        "gallery_search --mib 8 --count load --memory vector",
    ],
)
def test_with_an_allocator_in_between_the_count_repeats(builds: Path, command: str) -> None:
    program, *arguments = command.split()
    runs = physics.take_undisturbed_samples(built(builds, program), (f"./{program}", *arguments))
    assert len({run.minor for run in runs}) == 1
    assert runs[0].minor >= runs[0].document["pages"]


def test_all_kinds_of_temporaries_make_the_same_image(builds: Path) -> None:
    folder = built(builds, "image_filter")
    sums = {
        kind: json.loads(subprocess.check_output([folder / "image_filter", "--images", "2", "--temporaries", kind]))[
            "checksum"
        ]
        for kind in ("malloc", "mapped", "populate", "row")
    }
    assert len(set(sums.values())) == 1


@pytest.mark.thorough
def test_a_cold_start_has_major_faults_and_a_warm_one_has_none(builds: Path) -> None:
    folder = built(builds, "cold_start", "cold_start_Os")  # the other optimisation takes three times as long
    try:
        make_files_cold([folder / "cold_start_Os"])
    except EvictionError as error:
        pytest.skip(str(error))
    assert count_resident_pages(folder / "cold_start_Os")[0] == 0
    # Other tests empty the page cache meanwhile, so one of several warm starts has to be undisturbed.
    cold, *warm = (
        physics.execute_program(folder, ("./cold_start_Os",), region=False, json_output=False).major for _ in range(4)
    )
    assert cold > 0
    assert min(warm) == 0


def test_a_file_that_runs_cannot_be_made_cold(tmp_path: Path) -> None:
    copy = tmp_path / "sleep"
    shutil.copy(shutil.which("sleep") or "", copy)
    with subprocess.Popen([copy, "60"]) as sleeping:
        try:
            # Once it sleeps, it has run, so it maps its pages.
            while "(sleep) S" not in Path(f"/proc/{sleeping.pid}/stat").read_text():
                time.sleep(0.01)
            with pytest.raises(EvictionError, match="pages remained in memory"):
                make_files_cold([copy])
        finally:
            sleeping.kill()


@pytest.fixture(scope="module")
def examples(builds: Path) -> Path:
    if not shutil.which("gfortran"):
        pytest.skip("no gfortran on this host")
    folder = builds / "region"
    shutil.copytree(REGION, folder)
    done = subprocess.run(["make", "-s"], cwd=folder / "examples", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "examples"


@pytest.mark.parametrize("example", ["./touch_c", "./touch_cpp", "./touch_fortran", f"{sys.executable} touch_pages.py"])
@pytest.mark.parametrize("pages", [0, 1, 5000])
def test_the_examples_count_exactly_the_pages_they_touch(examples: Path, example: str, pages: int) -> None:
    run = physics.take_undisturbed_samples(examples, (*example.split(), str(pages)))[0]
    assert run.minor == run.document["faults"]


def test_without_perf_the_region_does_nothing(examples: Path) -> None:
    done = subprocess.run([examples / "touch_c", "10"], env={}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["pages"] == 10
