import pytest

from runner.profile.relative_paths import make_path_relative


def test_files_of_the_work_tree_are_told_from_there_on() -> None:
    root = "/builds/a/tree/"
    assert make_path_relative("/builds/a/tree/src/main.c", root) == "src/main.c"
    assert make_path_relative("/builds/a/tree/program", root) == "program"
    assert make_path_relative("/usr/lib/libc.so.6", root) == "/usr/lib/libc.so.6"


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("/srv/tree/src/a.c", "src/a.c"),
        ("/srv/tree/extra/../alloc.c", "alloc.c"),
        ("/srv/tree/./src/./a.c", "src/a.c"),
        ("/srv/tree/../other/a.c", "/srv/other/a.c"),
        ("[kernel]", "[kernel]"),
        ("", ""),
    ],
)
def test_a_path_has_no_detours(path: str, relative: str) -> None:
    assert make_path_relative(path, "/srv/tree/") == relative
