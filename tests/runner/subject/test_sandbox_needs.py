"""What a build needs and its sandbox does not give, in words that say what to do."""

import os
import time
from pathlib import Path

import pytest

from runner.execution.sandbox import Sandbox
from runner.subject.offline_builds import find_network_error
from runner.subject.package_managers import find_managers
from runner.subject.sandbox_needs import describe_sandbox_failure, list_masked_cache_folders, list_needs

SYSTEM = "/usr/local/bin:/usr/bin:/bin"
MEASURE = (
    "run `faultwatch measure WORKLOAD` on this host as this user (this builds outside the sandbox, with network "
    "access, and so fills the package folder)"
)
LOGS = {
    "pip": "ERROR: Could not install packages due to an OSError: Could not find a suitable TLS CA certificate bundle",
    "pip without an index": "ERROR: No matching distribution found for setuptools>=80",
    "Go": 'x.go:3:8: github.com/y/z@v1.0.0: Get "https://p.example": dial tcp: lookup p.example: connection refused',
    "Go without a proxy": "x.go:3:8: github.com/y/z@v1.0.0: module lookup disabled by GOPROXY=off",
    "Cargo": "error: failed to download from `https://i.example`: Could not resolve host: i.example",
    "Cargo offline": "error: attempting to make an HTTP request, but --offline was specified",
    "npm offline": "npm error request to https://r.example/x failed: cache mode is 'only-if-cached' but no cached",
    "Maven": "[ERROR] Could not transfer artifact a:b:pom:1 from/to central (https://r.example): Unknown host",
    "FetchContent": "fatal: unable to access 'https://g.example/z/': Could not resolve host: g.example",
    "submodules": "ssh: Could not resolve hostname g.example: Temporary failure in name resolution",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def program(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_a_build_that_wanted_a_network_is_recognised(log: str) -> None:
    assert find_network_error(f"building\n{log}\nfailed\n")
    assert describe_sandbox_failure(("make",), "make", {"PATH": SYSTEM}, Sandbox(), Path("/tree"), log).startswith(
        "a build in the sandbox has no network: commit the files that it downloads"
    )


def test_sources_that_cmake_would_fetch_are_named_with_the_option_that_takes_them_from_a_folder() -> None:
    log = f"{LOGS['FetchContent']}\nCMake Error at FetchContent.cmake:1616 (message):\n"
    log += "  Build step for other-lib failed: 2\n"
    said = describe_sandbox_failure(("cmake",), "cmake", {"PATH": SYSTEM}, Sandbox(), Path("/tree"), log)
    assert said.startswith("a build in the sandbox has no network. CMake's FetchContent downloads other-lib: keep the")
    assert "add -DFETCHCONTENT_SOURCE_DIR_OTHER-LIB=FOLDER to the `cmake` call that configures the build" in said
    assert "FAULTWATCH_SANDBOX_READ" in said


@pytest.mark.parametrize("log", ["x.c:1: error: expected ';'", "error[E0432]: unresolved import `y`", "undefined: x"])
def test_other_errors_are_not_blamed_on_the_network(log: str) -> None:
    assert not find_network_error(log)


def test_hidden_packages_are_named_with_the_setting_that_shows_them(home: Path) -> None:
    (home / "go" / "pkg" / "mod" / "cache").mkdir(parents=True)
    variables = {"PATH": SYSTEM, "GOMODCACHE": f"{home}/go/pkg/mod", "GOCACHE": f"{home}/.cache/go-build"}
    said = describe_sandbox_failure(("go", "build"), "go", variables, Sandbox(), home / "tree", LOGS["Go"])
    assert said == (
        f"a build in the sandbox has no network, and it does not expose {home}/go/pkg/mod (GOMODCACHE): "
        f"set FAULTWATCH_SANDBOX_READ={home}/go/pkg/mod on this host"
    )
    shown = Sandbox(readable_folders=(f"{home}/go/pkg/mod",))
    said = describe_sandbox_failure(("go", "build"), "go", variables, shown, home / "tree", LOGS["Go"])
    assert f"/go/pkg/mod (GOMODCACHE) lacks a package: {MEASURE}" in said


def test_a_folder_of_packages_with_an_impossible_name_is_said_to_be_empty(home: Path) -> None:
    folder = f"/{'x' * 300}"
    variables = {"PATH": SYSTEM, "GOMODCACHE": folder}
    said = describe_sandbox_failure(("go", "build"), "go", variables, Sandbox(), home / "tree", LOGS["Go"])
    assert f"a build in the sandbox has no network, and {folder} (GOMODCACHE) is empty: {MEASURE}" in said


def test_a_failure_with_a_very_long_line_is_explained_at_once(home: Path) -> None:
    log = "/" * 20_000
    began = time.process_time()
    assert not describe_sandbox_failure(("make",), "make", {"PATH": SYSTEM}, Sandbox(), home / "tree", log)
    assert time.process_time() - began < 1


def test_packages_of_maven_are_in_the_folder_that_an_option_in_a_variable_names(home: Path) -> None:
    repository = home / ".m2/repository"
    (repository / "org").mkdir(parents=True)
    (home / ".m2/settings.xml").write_text("secret")
    command = ("mvn", "package")
    said = describe_sandbox_failure(command, "mvn", {"PATH": SYSTEM}, Sandbox(), home / "tree", LOGS["Maven"])
    assert 'write MAVEN_OPTS = "-Dmaven.repo.local={home}/.m2/repository" under [build.environment]' in said
    assert said.endswith(f"set FAULTWATCH_SANDBOX_READ={repository} on this host")
    variables = {"PATH": SYSTEM, "MAVEN_OPTS": f"-Xmx1g -Dmaven.repo.local={repository}"}
    assert [need.folder for need in list_needs((), variables)] == [repository]
    assert list_masked_cache_folders(variables, Sandbox()) == (str(repository),)
    assert not list_needs((), {"PATH": SYSTEM, "MAVEN_OPTS": "-Xmx1g"})


def test_packages_that_only_their_owner_may_read_are_named_with_the_command_that_opens_them(home: Path) -> None:
    registry = home / ".cargo" / "registry"
    (registry / "src/fnv").mkdir(parents=True)
    variables = {"PATH": SYSTEM, "CARGO_HOME": f"{home}/.cargo"}
    log = f"error: couldn't read `{registry}/src/fnv/lib.rs`: Permission denied (os error 13)\n"
    shown = Sandbox(readable_folders=(f"{home}/.cargo",))
    said = describe_sandbox_failure(("cargo", "build"), "cargo", variables, shown, home / "tree", log)
    assert f"run `chmod -R a+rX {registry}" in said
    elsewhere = log.replace(str(registry), "/srv/other")
    assert describe_sandbox_failure(("cargo", "build"), "cargo", variables, shown, home / "tree", elsewhere) == ""


def test_packages_that_nobody_has_fetched_yet_are_fetched_first(home: Path) -> None:
    variables = {"PATH": SYSTEM, "GOMODCACHE": f"{home}/go/pkg/mod"}
    said = describe_sandbox_failure(("go", "build"), "go", variables, Sandbox(), home / "tree", LOGS["Go"])
    assert f"{home}/go/pkg/mod (GOMODCACHE) is empty: {MEASURE}" in said
    assert said.endswith(f"set FAULTWATCH_SANDBOX_READ={home}/go/pkg/mod on this host")


def test_of_two_package_managers_the_one_with_the_empty_folder_is_named(home: Path) -> None:
    (home / "go" / "pkg" / "mod" / "cache" / "download" / "example.org").mkdir(parents=True)
    pip_folder = f"{home}/.cache/faultwatch/pip"
    variables = {"PATH": SYSTEM, "GOMODCACHE": f"{home}/go/pkg/mod", "PIP_FIND_LINKS": pip_folder}
    command = ("sh", "-c", "go build && pip install --no-index .")
    said = describe_sandbox_failure(command, "sh", variables, Sandbox(), home / "tree", LOGS["pip without an index"])
    assert f"{pip_folder} (PIP_FIND_LINKS) is empty: " in said
    assert "pip download" in said


def test_a_folder_for_packages_that_a_new_host_lacks_is_filled_by_a_measurement(home: Path) -> None:
    modules = f"{home}/go/pkg/mod"
    log = f"go: could not create module cache: mkdir {home}/go: read-only file system"
    shown = Sandbox(readable_folders=(modules,))
    said = describe_sandbox_failure(
        ("go", "build"), "go", {"PATH": SYSTEM, "GOMODCACHE": modules}, shown, home / "tree", log
    )
    assert said == f"this host lacks {modules} (GOMODCACHE), which a build in the sandbox cannot create: {MEASURE}"


def test_what_pip_installs_is_kept_by_a_measurement_if_the_build_downloads_it(home: Path) -> None:
    folder = f"{home}/.cache/faultwatch/pip"
    variables, shown = {"PATH": SYSTEM, "PIP_FIND_LINKS": folder}, Sandbox(readable_folders=(folder,))
    begin = f"a build in the sandbox has no network, and {folder} (PIP_FIND_LINKS) is empty: "
    kept = "pip install --no-index . || { pip download --dest $PIP_FIND_LINKS .; pip install .; }"
    log = LOGS["pip without an index"]
    said = describe_sandbox_failure(("sh", "-c", kept), "sh", variables, shown, home / "tree", log)
    assert said == begin + MEASURE
    said = describe_sandbox_failure(("sh", "-c", "pip install ."), "sh", variables, shown, home / "tree", log)
    assert said == f"{begin}fill it with `pip download --dest FOLDER PACKAGE...`"


def test_a_command_without_a_folder_for_packages_is_told_which_variable_names_one(home: Path) -> None:
    command = ("sh", "-c", "python3 -m venv venv && venv/bin/pip install -e .")
    said = describe_sandbox_failure(command, "sh", {"PATH": SYSTEM}, Sandbox(), home / "tree", LOGS["pip"])
    assert 'write PIP_FIND_LINKS = "{home}/.cache/faultwatch/pip" under [build.environment]' in said
    assert said.endswith(f"set FAULTWATCH_SANDBOX_READ={home}/.cache/faultwatch/pip on this host")


def test_of_cargos_folder_only_the_packages_are_shown_not_its_credentials(home: Path) -> None:
    program(home / ".cargo" / "bin", "cargo")
    program(home / ".cargo" / "bin", "rustup")
    (home / ".cargo" / "registry").mkdir()
    (home / ".cargo" / "credentials.toml").write_text("[registry]\ntoken = 'x'\n")
    (home / ".rustup").mkdir()
    variables = {
        "PATH": f"{home}/.cargo/bin:{SYSTEM}",
        "CARGO_HOME": f"{home}/.cargo",
        "RUSTUP_HOME": f"{home}/.rustup",
    }
    folders = [str(need.folder.relative_to(home)) for need in list_needs(["cargo"], variables)]
    assert folders == [".cargo/bin", ".cargo/registry", ".rustup"]


def test_a_tool_in_the_home_does_not_show_the_whole_home(home: Path) -> None:
    for folder in ("bin", ".local/bin", "opt/x/bin"):
        program(home / folder, "crago")
        (need,) = list_needs(["crago"], {"PATH": f"{home}/{folder}"})
        assert need.folder == (home / "opt/x" if folder == "opt/x/bin" else home / folder)


def test_only_folders_of_package_managers_in_the_home_are_made(home: Path) -> None:
    variables = {"CARGO_HOME": f"{home}/.cargo", "GOCACHE": "/etc", "X": f"{home}/x", "GOMODCACHE": f"{home}/../y"}
    assert list_masked_cache_folders(variables, Sandbox()) == (f"{home}/.cargo",)
    assert list_masked_cache_folders(variables, Sandbox(readable_folders=(f"{home}/.cargo/registry",))) == (
        f"{home}/.cargo",
    )
    assert list_masked_cache_folders(variables, Sandbox(readable_folders=(str(home),))) == ()
    slashes = {"CARGO_HOME": f"{home}//.cargo/", "GOCACHE": f"{home}/.cache/./go-build/", "GOMODCACHE": f"{home}/"}
    assert list_masked_cache_folders(slashes, Sandbox()) == (f"{home}/.cargo", f"{home}/.cache/go-build")


def test_package_managers_are_found_in_the_commands_of_a_shell() -> None:
    named = {"go build -o x ./...": ["Go"], "cd x && cargo build": ["Cargo"], "python3 -m pip install .": ["pip"]}
    named |= {"venv/bin/pip3 install x": ["pip"], "make cargo-cult": [], "./go.sh": [], "cmake --build go": []}
    found = {command: [manager.name for manager in find_managers(("sh", "-c", command))] for command in named}
    assert found["cmake --build go"] in ([], ["Go"])  # A folder may be called so too.
    del found["cmake --build go"], named["cmake --build go"]
    assert found == named


def test_what_the_sandbox_hides_is_named_with_the_setting_that_shows_it(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "crago"
    program(tool.parent, "crago")
    (tmp_path / "cache").mkdir()
    tree = tmp_path / "tree"
    tree.mkdir()
    variables = {"CACHE": f"{tmp_path}/cache", "HOME": str(tree), "NONE": "/no/such", "LC_ALL": "C"}
    variables["PATH"] = f"{tool.parent}:{SYSTEM}"
    assert describe_sandbox_failure(("x",), "crago", variables, Sandbox(readable_folders=("/opt",)), tree) == (
        f"the sandbox does not expose {tmp_path} (crago) and {tmp_path}/cache (CACHE): "
        f"set FAULTWATCH_SANDBOX_READ=/opt:{tmp_path}:{tmp_path}/cache on this host"
    )
    assert describe_sandbox_failure(("x",), "crago", variables, Sandbox(readable_folders=(str(tmp_path),)), tree) == ""
    assert describe_sandbox_failure(("x",), "sh", {"PATH": SYSTEM}, Sandbox(), tree) == ""
    store = {"PATH": SYSTEM, "STORE": f"{tmp_path}/store", "OUT": f"{tree}/out"}
    lacks = (
        f"this host lacks {tmp_path}/store (STORE), which a build in the sandbox cannot create: create it on this host"
    )
    assert (
        describe_sandbox_failure(("x",), "sh", store, Sandbox(), tree, f"mkdir {tmp_path}/store: permission denied")
        == lacks
    )
    assert describe_sandbox_failure(("x",), "sh", store, Sandbox(), tree, "x.c:1: error: expected ';'") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_folder_that_this_user_may_not_look_into_is_no_obstacle_to_the_message(home: Path) -> None:
    (home / "locked").mkdir(mode=0o700)
    environment = {
        "PATH": SYSTEM,
        "CARGO_HOME": f"{home}/locked/cargo",
        "NOTE": f"/{'x' * 300}",
        "DATA": f"{home}/locked/data",
    }
    os.seteuid(65534)
    try:
        text = describe_sandbox_failure(("make",), "make", environment, Sandbox(), home / "tree", "an error")
    finally:
        os.seteuid(0)
    assert text == ""
