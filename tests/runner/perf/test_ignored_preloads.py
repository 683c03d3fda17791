"""Libraries of LD_PRELOAD that a program ran without."""

from pathlib import Path

from runner.perf.faults_by_file import FaultsByFile, FileFaults
from runner.perf.ignored_preloads import describe_unmapped_preload


def test_a_library_is_mapped_under_the_name_to_which_its_link_leads(tmp_path: Path) -> None:
    library, other = tmp_path / "libreal-2.1.so.3", tmp_path / "libother.so"
    for file in (library, other):
        file.touch()
    (tmp_path / "malloc.so").symlink_to(library.name)
    variables = {"LD_PRELOAD": str(tmp_path / "malloc.so")}

    def describe(mapped: Path) -> str:
        return describe_unmapped_preload(FaultsByFile(1, 0, 0, (FileFaults(str(mapped), (0, 0), 1, 1),)), variables)

    assert not describe(library)
    assert "ran without" in describe(other)
