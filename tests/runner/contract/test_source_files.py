"""What a file of a repository is for, judging by its path."""

from collections.abc import Callable

import pytest

from runner.contract.source_files import is_auxiliary_file, is_build_file, is_prose_file, is_source_file


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("src/table.c", is_source_file),
        ("msgspec/__init__.pyi", is_source_file),
        ("build.rs", is_build_file),
        ("lib/CMakeLists.txt", is_build_file),
        ("docs/tables.c", is_prose_file),
        ("README.md", is_prose_file),
        ("tests/a.txt", is_auxiliary_file),
        ("_benchmark/go/go.sum", is_auxiliary_file),
        ("benchmarks/generate_data.py", is_auxiliary_file),
        (".golangci.yml", is_auxiliary_file),
        (".github/workflows/test.yml", is_auxiliary_file),
        ("ide/vs2022/program.vcxproj.filters", is_auxiliary_file),
    ],
)
def test_a_file_is_known_by_its_path(file: str, kind: Callable[[str], bool]) -> None:
    assert kind(file)


@pytest.mark.parametrize("file", ["data/words.txt", "src/bench.c", "latest/a.conf", "src/demo.conf"])
def test_what_a_program_is_made_of_or_reads_is_not_auxiliary(file: str) -> None:
    assert not is_auxiliary_file(file)
