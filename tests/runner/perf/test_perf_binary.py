"""Which perf is run where Ubuntu's script refuses the running kernel."""

from pathlib import Path

import pytest

from runner.perf.perf_binary import find_perf

RELEASE = "6.18.44-cloud"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A root folder on which perf is a script, as Ubuntu's."""
    program(tmp_path / "usr/bin/perf", "#!/bin/bash\n")
    return tmp_path


def program(file: Path, content: str = "\x7fELF") -> Path:
    file.parent.mkdir(parents=True)
    file.write_text(content)
    file.chmod(0o755)
    return file


def found(host: Path) -> str:
    return find_perf(host, str(host / "usr/bin"), RELEASE)


def test_the_newest_perf_of_another_kernel_stands_in(host: Path) -> None:
    program(host / "usr/lib/linux-tools/6.8.0-99-generic/perf")
    newest = program(host / "usr/lib/linux-tools/6.8.0-151-generic/perf")
    program(host / "usr/lib/linux-tools/6.8.0-31-generic/perf")
    assert found(host) == str(newest)


def test_the_script_is_run_where_it_has_a_perf_for_the_kernel(host: Path) -> None:
    program(host / "usr/lib/linux-tools/6.99.0-generic/perf")
    program(host / f"usr/lib/linux-tools/{RELEASE}/perf")
    assert found(host) == "perf"


def test_the_script_says_what_to_install_where_there_is_none(host: Path) -> None:
    assert found(host) == "perf"


def test_a_perf_that_is_no_script_is_run(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/perf")
    program(tmp_path / "usr/lib/linux-tools/6.8.0-151-generic/perf")
    assert found(tmp_path) == "perf"


def test_without_any_perf_its_absence_is_found_by_running_it(tmp_path: Path) -> None:
    assert found(tmp_path) == "perf"
