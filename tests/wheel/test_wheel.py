"""The wheel is whole: everything that a clone has works from another folder, as another user, with an empty home."""

import json
import re
import subprocess
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheel.installation import ROOT, Installation


@pytest.fixture(scope="module")
def served(installed: Installation) -> Iterator[str]:
    """The address of the installed service."""
    port = installed.home / "port"
    with subprocess.Popen(
        installed.command("faultwatch-service", "serve", "--port", "0", "--port-file", str(port)),
        cwd=installed.home,
        env=installed.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        first = process.stdout.readline()
        try:
            address = re.search(r"http://\S+", first)
            assert address, first + process.stdout.read()
            yield address[0].rstrip("/")
        finally:
            process.terminate()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def test_the_wheel_has_every_file_of_the_parts_that_run(wheel: Path) -> None:
    parts = ["faultwatch", "runner", "service", "templates", "workloads"]
    tracked = subprocess.run(["git", "ls-files", "--", *parts], cwd=ROOT, check=True, capture_output=True, text=True)
    expected = {
        name if name.startswith("faultwatch/") else f"faultwatch/tree/{name}" for name in tracked.stdout.split()
    }
    with zipfile.ZipFile(wheel) as archive:
        assert expected - set(archive.namelist()) == set()


def test_an_environment_gets_no_top_level_name_but_faultwatch(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == {"faultwatch"}


def test_every_command_has_its_manual_and_its_completion(installed: Installation) -> None:
    share = installed.environment / "share"
    pages = {page.stem for page in (share / "man" / "man1").iterdir()}
    assert {"faultwatch", "faultwatch-measure", "faultwatch-job-run", "faultwatch-service-token-new"} <= pages
    for program in ("faultwatch", "faultwatch-service"):
        script = share / "bash-completion" / "completions" / program
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        assert f"{variable}=bash_complete" in script.read_text()


def test_other_programs_of_the_environment_do_not_see_the_parts(installed: Installation) -> None:
    code = "import faultwatch, importlib.util as u; print(u.find_spec('runner'), u.find_spec('service'))"
    assert installed.run("python", "-P", "-c", code).stdout.split() == ["None", "None"]


def test_every_page_finds_its_template_its_styles_and_its_scripts(served: str) -> None:
    page = get(f"{served}/")
    files = set(re.findall(r'(?:href|src)="(/(?:static|vendor)/[^"]+)"', page))
    assert any(file.startswith("/static/") and ".css" in file for file in files)
    assert any(file.startswith("/vendor/htmx.org/") for file in files)
    for file in files:
        assert get(served + file.replace("&amp;", "&")), file


def test_the_database_is_made_by_the_migrations(installed: Installation, served: str) -> None:
    assert json.loads(get(f"{served}/api/v1/health"))["database"] == "ok"
    done = installed.run("faultwatch-service", "upgrade")
    assert done.returncode == 0, done.stderr
    assert str(installed.home / ".local/share/faultwatch/faultwatch.db") in done.stdout


def test_the_command_has_the_version_of_the_wheel(installed: Installation, wheel: Path) -> None:
    assert installed.run("faultwatch", "--version").stdout.split()[-1] == wheel.name.split("-")[1]


def test_the_workloads_are_those_of_the_clone(installed: Installation) -> None:
    """A module of somebody else with the name of one of the parts does not get in the way."""
    from runner.workload import load_workload
    from runner.workload.workload_lookup import SHIPPED_WORKLOADS, list_shipped_names

    planted = installed.site / "runner.py"
    planted.write_text("raise SystemExit('the wrong one')")
    try:
        listed = json.loads(installed.run("faultwatch", "workloads", "--json").stdout)
    finally:
        planted.unlink()
    assert {one["name"]: one["definition"] for one in listed} == {
        name: load_workload(SHIPPED_WORKLOADS / name).definition for name in list_shipped_names()
    }
