"""Where programs can be executed, on real file systems."""

from pathlib import Path

from runner.system.mount_options import forbids_programs


def test_a_file_system_that_allows_no_programs(noexec_folder: Path, tmp_path: Path) -> None:
    assert forbids_programs(noexec_folder)
    assert forbids_programs(noexec_folder / "not" / "yet" / "there")
    assert not forbids_programs(tmp_path)
    assert not forbids_programs(tmp_path / "not" / "yet" / "there")
