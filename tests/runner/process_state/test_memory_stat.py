"""What control groups count: absent, not supported and zero are different things."""

from pathlib import Path

from runner.contract.report import Status
from runner.process_state.memory_stat import GROUP_COUNTERS, read_memory_readings

V2 = (
    "anon 0\nfile 4096\npgfault 12\npgmajfault 0\nthp_fault_alloc 2\n"
    "workingset_refault_anon 0\nworkingset_refault_file 7\n"
)
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


def test_without_a_group_all_is_absent() -> None:
    assert read_memory_readings(None) == {}


def test_version_2(tmp_path: Path) -> None:
    (tmp_path / "memory.stat").write_text(V2)
    (tmp_path / "memory.pressure").write_text(PRESSURE)
    values = {name: reading.value for name, reading in read_memory_readings(tmp_path).items()}
    assert values == {
        "cgroup:pgfault": 12,
        "cgroup:pgmajfault": 0,
        "cgroup:thp_fault_alloc": 2,
        "cgroup:workingset_refault_anon": 0,
        "cgroup:workingset_refault_file": 7,
        "cgroup:memory-stall-some": 1.5,
        "cgroup:memory-stall-full": 0,
    }


def test_version_1_has_a_part_and_no_pressure(tmp_path: Path) -> None:
    (tmp_path / "memory.stat").write_text("cache 0\npgfault 3\npgmajfault 0\ntotal_pgfault 3\n")
    found = read_memory_readings(tmp_path)
    assert {name for name, reading in found.items() if reading.status is Status.NOT_SUPPORTED} == {
        f"cgroup:{name}" for name in GROUP_COUNTERS[2:]
    }
    assert found["cgroup:pgmajfault"].value == 0
    assert "cgroup:memory-stall-some" not in found


def test_a_group_that_is_gone_counts_nothing(tmp_path: Path) -> None:
    assert all(reading.status is Status.NOT_SUPPORTED for reading in read_memory_readings(tmp_path / "gone").values())


def test_old_sums_are_not_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.stat").write_text(V2)
    assert read_memory_readings(tmp_path, min_faults=12)["cgroup:pgfault"].value == 12
    old = read_memory_readings(tmp_path, min_faults=13)
    assert {reading.status for reading in old.values()} == {Status.NOT_COUNTED}
    assert len(old) == len(GROUP_COUNTERS)
