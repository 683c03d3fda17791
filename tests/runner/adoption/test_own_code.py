import pytest

from runner.adoption.build_system_detection import explain_missing_build
from runner.adoption.own_code import count_memory_faults, executes_own_code, has_no_code
from runner.contract.mapped_files import CacheState, MappedFile
from tests.runner.adoption.listings import listing

C_FILES = ["src/a.c", "src/b.c", "src/a.h", "bench/fib.py", "bench/for.py"]


@pytest.mark.parametrize(
    ("files", "maps_built_files", "own"),
    [
        (C_FILES, False, False),
        (C_FILES, True, True),
        ([*C_FILES, "setup.py"], False, True),
        (["tool.py", "bench.py", "vendor/z/a.c", "vendor/z/b.c", "vendor/z/c.c"], False, True),
        (["src/Main.java", "src/Other.java", "native.c"], False, True),
        (["README"], False, True),
    ],
)
def test_of_a_compiled_project_only_what_maps_a_file_of_the_build_is_its_own_code(
    files: list[str], maps_built_files: bool, own: bool
) -> None:
    assert executes_own_code(listing(dict.fromkeys(files, "")), maps_built_files=maps_built_files) is own


def test_a_project_that_has_moved_has_no_code() -> None:
    moved = listing(dict.fromkeys((".gitattributes", "LICENSE", "README.md", ".github/x.yml"), ""))
    assert has_no_code(moved)
    reason = "contains no source code, only files such as .gitattributes, LICENSE and README.md"
    assert explain_missing_build(moved) == reason
    assert not has_no_code(listing({"README.md": "", "run": ""}))
    assert not has_no_code(listing({"README.md": "", "x.zig": ""}))


def test_a_mapped_input_is_memory_that_a_program_touches_but_its_code_is_not() -> None:
    faults = {"/lib/libc.so.6": 40, "build/x": 20, "build/libx.so.1": 10, "data/a.bin": 500}
    mapped_files = [
        MappedFile(path=path, in_build=not path.startswith("/"), cache=CacheState.PREPARED, faults=count)
        for path, count in faults.items()
    ]
    assert count_memory_faults(600, mapped_files, "./build/x") == 530
    assert count_memory_faults(30, mapped_files, "build/x") == 0, "it was watched in an execution with more faults"
    unwatched = [MappedFile(path="build/x", in_build=True, cache=CacheState.PREPARED)]
    assert count_memory_faults(600, unwatched, "build/x") is None
