"""The runtime of a language, by the files that a process has mapped."""

import pytest

from runner.contract.runtimes import RuntimeName, find_runtime


@pytest.mark.parametrize(
    ("file", "runtime"),
    [
        ("/usr/lib/jvm/java-17/lib/server/libjvm.so", RuntimeName.JAVA),
        ("/usr/bin/node", RuntimeName.NODE),
        ("libnode.so.115", RuntimeName.NODE),
        ("/usr/share/dotnet/shared/libcoreclr.so", RuntimeName.DOTNET),
        ("/usr/bin/python3.11", RuntimeName.PYTHON),
        ("/usr/lib/x86_64-linux-gnu/libpython3.12.so.1.0", RuntimeName.PYTHON),
        ("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", RuntimeName.RUBY),
    ],
)
def test_a_runtime_is_known_by_its_files(file: str, runtime: RuntimeName) -> None:
    assert find_runtime(["/bin/sh", file]) == (runtime, file.rpartition("/")[2])


@pytest.mark.parametrize("file", ["/srv/node_modules/native.node", "/opt/python-like", "/srv/libjvm.so.txt", ""])
def test_other_files_belong_to_none(file: str) -> None:
    assert find_runtime([file]) is None
