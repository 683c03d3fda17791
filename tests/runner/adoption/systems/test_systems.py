"""What each build system proposes for files as projects have them."""

import shlex
import time
from string import ascii_lowercase

import pytest

from runner.adoption.built_programs import add_file_runs
from runner.adoption.proposal import BuildProposal
from runner.adoption.systems import autotools, cargo, cmake, fortran, go, java, make, meson, node, python, scripts
from tests.runner.adoption.listings import listing


def test_cmake_switches_benchmarks_on_then_extras_off_and_at_last_all_programs_on() -> None:
    text = 'project(s CXX)\noption(S_BUILD_TESTS "t" ON)\noption(S_BUILD_BENCHMARKS "b" OFF)\n'
    commands = [proposal.command for proposal in cmake.propose(listing({"CMakeLists.txt": text}))]
    assert ["-DS_BUILD_BENCHMARKS=ON" in commands[0], "BENCHMARKS" in commands[1]] == [True, False]
    assert "-DS_BUILD_TESTS=OFF -DS_BUILD_BENCHMARKS=OFF" in commands[2]
    assert "-DBUILD_TESTING=OFF -DS_BUILD_TESTS=OFF -DS_BUILD_BENCHMARKS=ON" in commands[3]
    assert "-DBUILD_TESTING=ON -DS_BUILD_TESTS=ON -DS_BUILD_BENCHMARKS=ON" in commands[4]

    tests = [proposal.builds_tests for proposal in cmake.propose(listing({"CMakeLists.txt": text}))]
    assert tests == [False, False, False, False, True], "this is built where programs of another only start"
    manual = cmake.propose(listing({"CMakeLists.txt": 'project(s)\noption(INSTALL_MANPAGES "m" ON)\n'}))
    assert "-DINSTALL_MANPAGES=OFF" in manual[1].command
    reduced = [proposal.is_reduced for proposal in cmake.propose(listing({"CMakeLists.txt": text}))]
    assert reduced == [False, True, True, False, False]


def test_cmake_builds_examples_without_the_tests_which_download_a_framework() -> None:
    text = 'option(P_BUILD_TESTS "t" ON)\noption(P_BUILD_EXAMPLES "e" ON)\noption(P_DOWNLOAD_GTEST "d" ON)\n'
    commands = [proposal.command for proposal in cmake.propose(listing({"CMakeLists.txt": text}))]
    assert any("-DP_BUILD_TESTS=OFF -DP_DOWNLOAD_GTEST=OFF -DP_BUILD_EXAMPLES=ON" in command for command in commands)


def test_cmake_builds_the_programs_that_are_no_part_of_the_default_target() -> None:
    text = (
        "project(s C)\nadd_custom_target(check COMMAND ctest)\nadd_custom_target(build_tests) # all\n"
        "add_executable ( ${TEST} EXCLUDE_FROM_ALL ${SOURCE} )\n"
        "add_dependencies(check ${TEST})\nadd_dependencies(build_tests ${TEST})\n"
    )
    *others, last = cmake.propose(listing({"CMakeLists.txt": text}))
    assert last.command.endswith("-j$(nproc) --target all build_tests'")
    assert last.builds_tests
    assert not any("--target" in other.command for other in others)
    named = "project(s C)\nadd_executable(bench EXCLUDE_FROM_ALL b.c)\nadd_executable(x EXCLUDE_FROM_ALL x.c)\n"
    *_, last = cmake.propose(listing({"CMakeLists.txt": named}))
    assert last.command.endswith("--target all bench x'")


def test_the_mode_for_developers_builds_the_programs_of_a_library() -> None:
    *_, programs = cmake.propose(listing({"CMakeLists.txt": 'project(s)\noption(S_DEVELOPER_MODE "t" OFF)\n'}))
    assert "-DS_DEVELOPER_MODE=ON" in programs.command
    assert programs.builds_tests


def test_cmake_leaves_out_tests_whose_option_has_a_lower_case_name() -> None:
    text = "project(s)\noption(build_tests)\noption(build_tools)\n"
    commands = [proposal.command for proposal in cmake.propose(listing({"CMakeLists.txt": text}))]
    assert any("-Dbuild_tests=OFF -Dbuild_tools=ON &&" in command for command in commands)
    assert not any("-Dbuild_tests=OFF" in command and "-Dbuild_tests=ON" in command for command in commands)


def test_cmake_switches_off_the_part_that_needs_a_missing_library() -> None:
    sources = listing({"CMakeLists.txt": 'project(s C)\noption(S_WITH_OGG "o" ON)\noption(WITH_OGGETTE "x" ON)\n'})
    (proposal, *_) = cmake.propose(sources)
    reduced = cmake.switch_part_off(proposal, sources, "Ogg")
    assert reduced
    assert "-DCMAKE_BUILD_TYPE=RelWithDebInfo -DS_WITH_OGG=OFF &&" in reduced.command
    assert cmake.switch_part_off(reduced, sources, "Ogg") is None, "it is off already"
    assert cmake.switch_part_off(proposal, sources, "zlib") is None
    assert cmake.switch_part_off(BuildProposal("Make", "make"), sources, "Ogg") is None


def test_cmake_builds_a_release_where_the_code_needs_the_options_that_only_releases_get() -> None:
    (proposal, *_) = cmake.propose(listing({"CMakeLists.txt": "project(s CXX)\n"}))
    log = "x.h:3:1: error: inlining failed in call to 'always_inline' '_mm_x': target specific option mismatch\n"
    release = cmake.build_release(proposal, log)
    assert release
    assert release.command == proposal.command.replace("RelWithDebInfo", "Release")
    assert cmake.build_release(release, log) is None
    assert cmake.build_release(proposal, "x.c:3: error: 'y' undeclared") is None


def test_cmake_is_found_in_a_folder_and_does_not_build_into_a_tracked_one() -> None:
    (proposal, *_) = cmake.propose(listing({"build/cmake/CMakeLists.txt": "project(lz C)", "lib/lz.c": ""}))
    assert "-S build/cmake -B _build " in proposal.command


def test_cmake_of_a_foreign_library_is_not_the_projects_own() -> None:
    assert cmake.propose(listing({"third_party/z/CMakeLists.txt": "project(z C)", "Makefile": ""})) == []


def test_cmake_with_fortran_needs_its_compiler() -> None:
    (proposal, *_) = cmake.propose(listing({"CMakeLists.txt": "project(p LANGUAGES C Fortran)"}))
    assert proposal.tools == ("cmake", "gfortran")
    (proposal, *_) = cmake.propose(listing({"CMakeLists.txt": "project(p NONE)\nenable_language(Fortran)\n"}))
    assert proposal.tools == ("cmake", "gfortran")
    text = "# This project (see README.md) needs CMake 3.\nproject(p LANGUAGES Fortran)"
    (proposal, *_) = cmake.propose(listing({"CMakeLists.txt": text}))
    assert proposal.tools == ("cmake", "gfortran")


def test_meson_switches_benchmarks_on_first() -> None:
    options = "option('benchmarks', type: 'boolean', value: false)\noption('bench', type : 'feature')\n"
    first, second = meson.propose(listing({"meson.build": "project('x', 'c')", "meson_options.txt": options}))
    assert "-Dbenchmarks=true -Dbench=enabled" in first.command
    assert "-D" not in second.command


def test_meson_leaves_documents_and_tests_out_if_they_do_not_build() -> None:
    names = {"docs": "boolean", "man-pages": "feature", "tests": "boolean", "bin": "boolean"}
    options = "".join(f"option('{name}', type: '{kind}')\n" for name, kind in names.items())
    usual, without = meson.propose(listing({"meson.build": "project('x', 'c')", "meson_options.txt": options}))
    assert "-D" not in usual.command
    assert "-Ddocs=false -Dman-pages=disabled -Dtests=false build" in without.command
    assert (usual.is_reduced, without.is_reduced) == (False, True)


def test_a_subdirectory_of_meson_is_no_project() -> None:
    assert meson.propose(listing({"src/meson.build": "executable('x', 'x.c')"})) == []


def test_autotools_links_statically_where_libtool_would_make_scripts() -> None:
    (proposal,) = autotools.propose(listing({"configure.ac": "AC_INIT\nLT_INIT\n", "configure": ""}))
    assert proposal.command.startswith("sh -c './configure --disable-shared && make")
    (proposal,) = autotools.propose(listing({"configure.ac": "AC_INIT\n", "autogen.sh": ""}))
    generated = "NOCONFIGURE=1 sh ./autogen.sh && { test -e configure || autoreconf -fi; }"
    assert proposal.command.startswith(f"sh -c '{generated} && ./configure && make")


def test_automake_builds_the_tests_of_a_library_without_executing_them() -> None:
    files = {"configure.ac": "AC_INIT\n", "configure": "", "test/Makefile.am": "check_PROGRAMS = a\nTESTS = a\n"}
    usual, tests = autotools.propose(listing(files))
    assert tests.command == usual.command[:-1] + " && make -j$(nproc) check TESTS='"
    assert (usual.builds_tests, tests.builds_tests) == (False, True)
    assert len(autotools.propose(listing(files | {"test/Makefile.am": "noinst_PROGRAMS = a\n"}))) == 1


def test_a_configure_script_written_by_hand_is_run() -> None:
    (proposal,) = autotools.propose(listing({"configure": "#!/bin/sh", "Makefile": "all:"}))
    assert proposal.command.startswith("sh -c './configure && make")


def test_targets_of_make_may_be_variables() -> None:
    text = "BENCH = bench\nRUN := run\n$(RUN): main.c\n\tcc -o $@ $<\n$(BENCH): bench.c\n\tcc -o $@ $<\n"
    commands = [build.command for build in make.propose(listing({"Makefile": text}))]
    assert [command for command in commands if command.endswith((" bench'", " bench"))], commands


def test_a_script_at_the_top_that_starts_a_compiler_is_a_build() -> None:
    script = "#!/bin/bash\n# gcc is needed\n{}\n"
    (build,) = scripts.propose(listing({"build.sh": script.format("gcc -O2 -o fe src/fe.c")}))
    assert build.command == "bash build.sh"
    (build,) = scripts.propose(listing({"make.sh": 'set -e\n"$CC" -o fe fe.c\n'}))
    assert build.command == "sh make.sh"
    assert scripts.propose(listing({"build.sh": script.format("docker build .")})) == []
    assert scripts.propose(listing({"tools/build.sh": script.format("gcc -o x x.c")})) == []


def test_make_builds_the_default_target_first_then_the_usual_ones() -> None:
    text = "x := 1\nprogram: x.o\nbench: meter.o\n\tcc -o bench meter.o\ntests:\n"
    commands = [proposal.command for proposal in make.propose(listing({"src/Makefile": text}))]
    assert commands == [f"sh -c 'make -C src -j$(nproc){target}'" for target in ("", " bench", " tests")]


def test_the_programs_that_a_target_of_make_only_runs_are_made_instead_of_it() -> None:
    text = (
        "all: program\nprogram: x.o\nbench: ct/_check data\n\t@cp data d ; ct/_check -b $(FLAGS)\n"
        "test: program\n\t./program -k x.c ; ./program -t x.gz\ntests: program.o\n\tprogram.old program.o\n"
    )
    builds = make.propose(listing({"Makefile": text}))
    targets = [(build.command.partition("$(nproc)")[2].strip("' "), build.builds_tests) for build in builds]
    assert targets == [("", False), ("all", False), ("ct/_check", True), ("tests", False), ("program", False)]


def test_without_a_makefile_at_the_top_those_of_folders_are_proposed_this_systems_first() -> None:
    files = dict.fromkeys(("p/make.bsd/Makefile", "p/make/Makefile", "p/misc/Makefile", "deps/z/Makefile"), "x:\n")
    commands = [proposal.command for proposal in make.propose(listing(files))]
    assert commands == [f"sh -c 'make -C {folder} -j$(nproc)'" for folder in ("p/make", "p/make.bsd")]
    assert make.propose(listing({"misc/Makefile": "x:\n"})) == [], "it builds no program"
    variants = dict.fromkeys(("cuda/Makefile", "hip/Makefile", "opencl/Makefile", "openmp-threading/Makefile"), "x:\n")
    assert make.propose(listing(variants))[0].command == "sh -c 'make -C openmp-threading -j$(nproc)'"


def test_a_makefile_that_users_are_meant_to_copy_is_used_if_there_is_no_other() -> None:
    template = {"src-serial/Makefile.vanilla": "all: x\n"}
    (proposal,) = make.propose(listing(template))[:1]
    assert proposal.command == (
        "sh -c 'cp src-serial/Makefile.vanilla src-serial/Makefile && make -C src-serial -j$(nproc)'"
    )
    (usual,) = make.propose(listing({**template, "Makefile": "all: x\n"}))[:1]
    assert usual.command == "sh -c 'make -j$(nproc)'"


def test_the_target_of_the_projects_name_is_built_before_all_others() -> None:
    def list_targets(text: str) -> list[str]:
        return [build.command for build in make.propose(listing({"Makefile": text}, "Zstd"))]

    expected = [f"sh -c 'make -j$(nproc){target}'" for target in (" zstd", "", " all")]
    assert list_targets("default: lib\nzstd: lib\n\tcc x.c\nall: zstd\n") == expected
    assert list_targets("zstd: lib\n\tcc x.c\n") == ["sh -c 'make -j$(nproc)'"], "it is the default"


def test_a_configure_script_in_a_folder_is_run_at_the_top() -> None:
    (proposal,) = autotools.propose(listing({"auto/configure": "#!/bin/sh\n"}))
    assert proposal.command == "sh -c 'sh auto/configure && make -j$(nproc)'"


def test_make_targets_that_start_containers_or_become_root_are_never_proposed() -> None:
    text = (
        "DRUN = docker run -i box\nbuild:\n\tdocker build .\nbench:\n\t$(DRUN) go test\nimage: build\n"
        "test: image\n\tgo test\nexamples:\n\tcc -o x docker.c # no docker-machine\ntests:\n\t@sudo make install\n"
        "all: ; podman build .\n"
    )
    commands = [proposal.command for proposal in make.propose(listing({"Makefile": text}))]
    assert commands == ["sh -c 'make -j$(nproc) examples'"]


def test_the_programs_of_a_default_target_are_made_one_by_one_if_one_of_them_does_not_build() -> None:
    text = "all: dirs unit view lib.a bench install\n\nunit: u.o\n\tcc $^\nview: v.o\n\tcc $^ -lSDL2\nlib.a: u.o\n"
    text += "bench: b.o\ninstall: all\ndirs:\n"
    builds = make.propose(listing({"Makefile": text}, "view"))
    targets = [(build.command.partition("$(nproc)")[2].strip("' "), build.builds_tests) for build in builds]
    assert targets == [("view", False), ("", True), ("all", True), ("bench", True), ("unit", False)]


def test_the_programs_that_only_a_named_target_makes_are_made_last() -> None:
    text = (
        "CC = cc\nall: lib.a test/unit\ntest/unit: u.o\n\t$(CC) -o $@ $^\nu.o: u.c\n\t$(CC) -c -o u.o u.c\n"
        "dump: dump.c\n\t$(CC) $(LDFLAGS) $< -o $@\nshow: show.c\n\tcc -o bin/show show.c\nhelp:\n\techo -o\n"
        "part.o: part.c\n\tcc -o part.o part.c\nlint:\n\tcheck -o lint\ntest: test/unit\n\t./test/unit -o x\n"
    )
    *_, part, last = make.propose(listing({"Makefile": text}))
    assert part.command.endswith(" test/unit'")
    assert (last.command, last.builds_tests) == ("sh -c 'make -j$(nproc) dump show'", True)


def test_cargo_prefers_programs_then_benchmarks_that_run_once() -> None:
    manifest = (
        '[package]\nname = "p"\n[dev-dependencies]\ncriterion = "0.5"\n[[bench]]\nname = "scan"\nharness = false\n'
    )
    files = {"Cargo.toml": manifest, "src/lib.rs": "", "benches/scan.rs": "", "Cargo.lock": ""}
    library = cargo.propose(listing(files))
    assert [run.command for run in library[0].runs] == ["target/release/bench-scan --bench --test"]
    program = cargo.propose(listing(files | {"src/main.rs": ""}))
    assert program[0].command == "cargo build --release --locked"
    assert program[1] == library[0]


def test_a_library_of_rust_without_benchmarks_is_used_by_its_tests() -> None:
    files = {"Cargo.toml": '[package]\nname = "my-json"\n[workspace]\n', "src/lib.rs": "", "Cargo.lock": ""}
    files |= {"tests/big-stream.rs": "", "tests/ui/a.rs": "", "tests/my_json.rs": "", "tools/x/src/main.rs": ""}
    *_, tests = cargo.propose(listing(files))
    assert tests.command.startswith("sh -c 'cargo test --release --no-run --test big-stream --locked && find ")
    assert '-name "big_stream-*" -exec cp {} target/release/test-big-stream ' in tests.command
    (run,) = tests.runs
    assert run.command == "target/release/test-big-stream --test-threads=1"
    assert run.is_test
    assert not run.is_promising
    *_, with_units = cargo.propose(listing(files | {"src/value.rs": "#[test]\nfn parses() {}\n"}))
    assert [run.program or run.command.split()[0] for run in with_units.runs][1:] == ["target/release/test-my_json"]
    assert with_units.command.startswith("sh -c 'cargo test --release --no-run --lib --locked && find ")
    *_, beside_program = cargo.propose(listing(files | {"src/bin/big_stream.rs": ""}))
    assert not beside_program.runs, "the program has the same name"
    library = files | {"Cargo.toml": '[package]\nname = "my-json"\n[lib]\nname = "json"\n', "src/a.rs": "#[test]"}
    assert "target/release/test-json" in cargo.propose(listing(library))[-1].command
    assert len(cargo.propose(listing(files))) == 1, "the library itself makes no program"
    for name in ("--config", "a b", "x\u00e9"):
        odd_files = {"Cargo.toml": f'[package]\nname = "{name}"\n', "src/lib.rs": "#[test]"}
        assert [build.command for build in cargo.propose(listing(odd_files))] == ["cargo build --release"]


def test_the_benchmarks_of_a_member_of_a_cargo_workspace_are_found() -> None:
    member = '[package]\nname = "speed"\n[dev-dependencies]\ncriterion = "1"\n[[bench]]\nname = "b"\nharness = false\n'
    files = {
        "Cargo.toml": "[workspace]\nmembers = ['speed']\n",
        "speed/Cargo.toml": member,
        "vendor/Cargo.toml": member,
    }
    benchmark, _ = cargo.propose(listing(files | {"vendor/Cargo.toml": member, "it's/Cargo.toml": member}))
    assert (
        "cargo build --release --manifest-path speed/Cargo.toml --target-dir target --bench b && " in benchmark.command
    )
    assert benchmark.runs[0].command == "sh -c 'cd speed && exec ../target/release/bench-b --bench --test'"


def test_a_package_may_inherit_the_version_of_rust_from_its_workspace() -> None:
    inheriting = '[package]\nname = "x"\nrust-version.workspace = true\n[workspace.package]\nrust-version = "1.96"\n'
    for manifest in (inheriting, '[workspace.package]\nrust-version = "1.96"\n', '[package]\nrust-version = "1.96"\n'):
        (proposal, *_) = cargo.propose(listing({"Cargo.toml": manifest, "src/main.rs": ""}))
        assert proposal.min_versions == {"cargo": "1.96"}


def test_cargo_finds_a_benchmark_library_that_some_platforms_use() -> None:
    manifest = '[package]\nname = "p"\n[target."cfg(not(miri))".dev-dependencies]\ncriterion = "0.8"\n'
    manifest += '[[bench]]\nname = "bench"\nharness = false\n'
    benchmark, *_ = cargo.propose(listing({"Cargo.toml": manifest, "src/lib.rs": "", "benches/bench.rs": ""}))
    assert benchmark.runs[0].command == "target/release/bench-bench --bench --test"
    builds = cargo.propose(listing({"Cargo.toml": manifest.replace("criterion", "rand"), "src/lib.rs": ""}))
    assert not any("--bench" in build.command for build in builds)


@pytest.mark.parametrize("folder", ["", "speed/"])
def test_a_cargo_benchmark_without_a_library_does_all_of_its_work(folder: str) -> None:
    manifest = '[package]\nname = "p"\n[[bench]]\nname = "scan"\nharness = false\n'
    files = {"Cargo.toml": "[workspace]\n", f"{folder}Cargo.toml": manifest, f"{folder}src/lib.rs": ""}
    benchmark, *_ = cargo.propose(listing(files | {f"{folder}benches/scan.rs": "fn main() {\n}\n"}))
    assert benchmark.runs[0].command.rstrip("'").endswith("target/release/bench-scan --bench")
    other, *_ = cargo.propose(listing(files | {f"{folder}benches/scan.rs": "some_library::main!(scan);\n"}))
    assert not other.runs


def test_a_python_package_is_used_by_its_examples_before_it_is_only_imported() -> None:
    files = {"setup.py": "setup()", "p/__init__.py": "", "examples/a/use.py": "run()\n", "examples/names.py": "x = 1\n"}
    runs = python.propose(listing(files, "p"))[0].runs
    assert [run.command for run in runs] == ["venv/bin/python examples/a/use.py", 'venv/bin/python -c "import p"']
    assert [run.is_test for run in runs] == [True, False]


def test_the_programs_of_a_python_package_may_do_nothing_without_a_file() -> None:
    project = '[project]\nname = "p"\n[project.scripts]\np-run = "p:main"\n'
    files = {"pyproject.toml": project, "p/__init__.py": "", "p/__main__.py": ""}
    runs = [run for run in python.propose(listing(files, "p"))[0].runs if run.takes_files]
    assert [(run.command, run.program, run.may_do_nothing) for run in runs] == [
        ("venv/bin/python -m p", "venv/bin/python -m p", True),
        ("venv/bin/p-run", "venv/bin/p-run", True),
    ]


def test_a_python_package_is_found_below_a_top_folder_that_looks_like_one() -> None:
    files = {"setup.py": "setup()", "__init__.py": "", "p/__init__.py": "", "p/__main__.py": "", "p/q/__init__.py": ""}
    commands = [run.command for run in python.propose(listing(files, "p"))[0].runs]
    assert commands == ["venv/bin/python -m p", "venv/bin/python -m p --help", 'venv/bin/python -c "import p"']


def test_the_tests_of_the_main_package_of_a_workspace_run_in_its_folder() -> None:
    manifest = '[package]\nname = "{0}"\n'
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
        "crates/graph/Cargo.toml": manifest.format("graph"),
        "crates/graph/src/lib.rs": "",
        "crates/graph/tests/walk.rs": "",
        "crates/core/Cargo.toml": manifest.format("graph-core"),
        "crates/core/src/lib.rs": "",
        "crates/core/tests/a.rs": "",
        "crates/core/tests/b.rs": "",
    }
    *_, tests = cargo.propose(listing(files, name="graph"))
    assert "--manifest-path crates/graph/Cargo.toml --target-dir target --no-run --test walk" in tests.command
    (run,) = tests.runs
    assert run.command == "sh -c 'cd crates/graph && exec ../../target/release/test-walk --test-threads=1'"
    *_, tests = cargo.propose(listing(files, name="other"))
    assert "crates/core/" in tests.command, "it has more tests"


def test_the_tests_of_a_python_package_get_the_packages_of_their_requirements_file() -> None:
    files = {"pyproject.toml": '[project]\nname = "p"\n', "p/__init__.py": "", "tests/test_p.py": ""}
    *_, tests = python.propose(listing({**files, "requirements-test.txt": "pytest-expect"}))
    assert "-e . pytest -r requirements-test.txt" in tests.command
    grouped = {**files, "pyproject.toml": '[project]\nname = "p"\n[dependency-groups]\ntest = ["hypothesis"]\n'}
    *_, tests = python.propose(listing({**grouped, "requirements-test.txt": "pytest-expect"}))
    assert '-e . pytest "hypothesis"' in tests.command


def test_make_begins_with_the_usual_variant_of_a_program() -> None:
    folders = ("cilk/basic", "kokkos/src", "mkl/basic", "openmp/src", "ref/src")
    proposals = make.propose(listing({f"{folder}/Makefile": "all: x\n" for folder in folders}))
    commands = dict.fromkeys(proposal.command.split(" -C ")[1].split()[0] for proposal in proposals)
    assert list(commands) == ["openmp/src", "ref/src", "kokkos/src"]


def test_cmake_builds_benchmarks_and_tests_that_are_projects_of_their_own() -> None:
    files = {
        "CMakeLists.txt": "project(map)\nadd_library(map INTERFACE)\n",
        "tests/CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(map_tests)\n",
        "bench/CMakeLists.txt": "add_executable(bench main.cpp)\n",
    }
    *_, tests = cmake.propose(listing(files))
    assert tests.command.startswith("sh -c 'cmake -S tests -B build ")
    assert tests.builds_tests
    added = cmake.propose(listing({**files, "CMakeLists.txt": "project(map)\nadd_subdirectory(tests)\n"}))
    assert not [build for build in added if " -S tests " in build.command]


def test_go_builds_all_programs_but_not_ignored_ones() -> None:
    main = "package main\n\nfunc main() {}\n"
    files = {"go.mod": "module m", "main.go": main, "cmd/tool/main.go": main, "gen.go": f"//go:build ignore\n\n{main}"}
    files["cmd/web/main.go"] = f"//go:build js && wasm\n\n{main}"
    (proposal,) = go.propose(listing(files))
    assert proposal.command == "go build -o bin/ ./. ./cmd/tool"
    files["cmd/web/main.go"] = f"//go:build linux || windows\n\n{main}"
    (proposal,) = go.propose(listing(files))
    assert proposal.command == "go build -o bin/ ./. ./cmd/tool ./cmd/web"


def test_a_go_program_that_compares_another_library_is_not_measured_first() -> None:
    own, other = (
        f'package main\n\nimport (\n\t"fmt"\n\t"{path}"\n)\n\nfunc main() {{}}\n'
        for path in ("a.org/fa/cmd", "b.org/biology/io")
    )
    files = {"go.mod": "module a.org/fa\n", "cmd/x.go": "package cmd\n", "fa/main.go": own, "benchmark/b.go": other}
    first, last = go.propose(listing(files))
    assert (first.command, last.command) == ("go build -o bin/ ./fa", "go build -o bin/ ./benchmark")
    del files["fa/main.go"]
    assert [build.command for build in go.propose(listing(files))] == ["go build -o bin/ ./benchmark"]


def test_go_programs_that_generate_code_or_are_examples_come_after_the_benchmarks() -> None:
    main = "package main\n\nfunc main() {}\n"
    files = {
        "go.mod": "module m",
        "vm/internal/tables/main.go": main,
        "test/gen/gen.go": main,
        "x_test.go": "package x\n\nfunc BenchmarkScan(b *testing.B) {}\n",
    }
    benchmarks, programs = go.propose(listing(files))
    assert benchmarks.command == "go test -c -o bin/benchmarks ./."
    assert programs.command == "go build -o bin/ ./test/gen ./vm/internal/tables"
    first, *_ = go.propose(listing(files | {"cmd/tool/main.go": main}))
    assert first.command == "go build -o bin/ ./cmd/tool"


def test_go_runs_the_benchmarks_of_a_library_a_fixed_number_of_times() -> None:
    test = "package deep\n\nfunc BenchmarkScan(b *testing.B) {}\n"
    (proposal,) = go.propose(listing({"go.mod": "module m", "a/deep/x_test.go": test, "go.sum": ""}))
    assert proposal.command == "go test -c -o bin/benchmarks ./a/deep"
    (run,) = proposal.runs
    assert run.command.startswith("sh -c 'cd a/deep && exec ../../bin/benchmarks ")
    assert "-test.benchtime=10x" in run.command
    assert proposal.environment == {"GOMODCACHE": "{home}/go/pkg/mod", "GOCACHE": "{home}/.cache/go-build"}


def test_a_go_library_without_benchmarks_is_used_by_its_tests() -> None:
    test = "package deep\n\nfunc TestMain(m *testing.M) {}\nfunc TestScan(t *testing.T) {}\n"
    (proposal,) = go.propose(listing({"go.mod": "module m", "a/deep/x_test.go": test}))
    assert proposal.command == "go test -c -o bin/tests ./a/deep"
    (run,) = proposal.runs
    assert run.command == "sh -c 'cd a/deep && exec ../../bin/tests -test.parallel=1'"
    assert run.is_test
    assert not run.is_promising
    assert go.propose(listing({"go.mod": "module m", "x_test.go": "func TestMain(m *testing.M) {}\n"})) == []


def test_go_begins_with_the_package_at_the_top_and_enters_the_folders_of_other_modules() -> None:
    test = "package x\n\nfunc BenchmarkScan(b *testing.B) {}\n"
    files = {"go.mod": "module m\n\ngo 1.13\n", "x_test.go": test, "deep/y_test.go": test * 3}
    nested = {"bench/go.mod": "module bench\n\ngo 1.26.3\n", "bench/a/b_test.go": test, "examples/go.mod": "module e"}
    root, other = go.propose(listing(files | nested | {"bench/go.sum": "y v1"}))
    assert root.command == "go test -c -o bin/benchmarks ./."
    assert (root.min_versions, other.min_versions) == ({"go": "1.13"}, {"go": "1.26.3"})
    assert other.command == "sh -c 'cd bench && go test -c -o ../bin/benchmarks ./a'"
    assert other.runs[0].command.startswith("sh -c 'cd bench/a && exec ../../bin/benchmarks ")
    assert ["GOMODCACHE" in proposal.environment for proposal in (root, other)] == [False, True]


FUNCTIONS = """package benchmark

import (
	"testing"

	"github.com/a/fast-json"
	other "github.com/b/json"
)

func BenchmarkFastJSONSmall(b *testing.B) {}
func BenchmarkFastJsonLarge(b *testing.B) {}
func BenchmarkEncodingJson(b *testing.B) {}
"""
PARTS = """package benchmark

import "github.com/b/json"

func BenchmarkParse(b *testing.B) {
	b.Run("Other", other)
	b.Run("Fast-JSON", own)
}
"""


def test_go_completes_the_sums_that_a_module_lacks() -> None:
    (proposal,) = go.propose(listing({"go.mod": "module m", "main.go": "package main\n\nfunc main() {}\n"}))
    log = "go: a/b@v1: missing go.sum entry for go.mod file; to add it:\n"
    completing = go.complete_sums(proposal, log)
    assert completing
    assert completing.environment["GOFLAGS"] == "-mod=mod"
    assert completing.environment["GOMODCACHE"] == "{home}/go/pkg/mod", "what it downloads is kept"
    assert go.complete_sums(completing, log) is None
    assert go.complete_sums(proposal, "./x.go:3:4: undefined: frob\n") is None


def test_of_go_benchmarks_that_compare_libraries_only_the_projects_own_are_run() -> None:
    def arguments(test: str) -> str:
        files = {"go.mod": "module github.com/a/fast-json/v2\n", "bench/go.mod": "module bench\n"}
        (proposal,) = go.propose(listing(files | {"bench/a_test.go": test}))
        return proposal.runs[0].command

    assert ' -test.bench="(FastJSON|FastJson)" ' in arguments(FUNCTIONS)
    assert " -test.bench=./Fast-JSON " in arguments(PARTS)
    assert " -test.bench=. " in arguments(PARTS.replace("github.com/b/json", "github.com/a/fast-json/v2"))
    assert " -test.bench=. " in arguments(PARTS.replace("Fast-JSON", "Another")), "none has its name"


def test_go_leaves_out_the_folders_that_go_leaves_out() -> None:
    main = "package main\n\nfunc main() {}\n"
    assert go.propose(listing({"go.mod": "module m", "_tools/main.go": main, "x/.hidden/main.go": main})) == []


def test_python_scripts_need_no_build() -> None:
    (proposal,) = python.propose(listing({"bench_sum.py": "import numpy", "util.py": ""}))
    assert proposal.command == ""
    assert proposal.runs[0].command == "python3 bench_sum.py"


def test_python_scripts_get_what_the_requirements_name() -> None:
    files = {"heat.py": "import numpy", "requirements.txt": "numpy\n", "tests/test_heat.py": "", "docs/conf.py": ""}
    offline, online = python.propose(listing(files))
    assert "--system-site-packages venv" in offline.command
    assert "pip install --quiet --disable-pip-version-check --no-index -r requirements.txt" in offline.command
    assert "-r requirements.txt" in online.command
    assert offline.environment == {}
    assert online.environment == {"PIP_FIND_LINKS": "{home}/.cache/faultwatch/pip"}
    assert (
        "pip download --quiet --disable-pip-version-check --dest $PIP_FIND_LINKS -r requirements.txt" in online.command
    )
    assert [run.command for run in online.runs] == ["venv/bin/python heat.py"]


def test_the_package_of_the_project_is_imported_rather_than_its_benchmarks() -> None:
    files = {"pyproject.toml": '[project]\nname = "fast-json"\n', "benchmarks/__init__.py": "", "lib/__init__.py": ""}
    runs = python.propose(listing(files | {"src/fast_json/__init__.py": "", "tools/__init__.py": ""}))[0].runs
    imports = [run.command for run in runs if " -c " in run.command]
    assert imports == ['venv/bin/python -c "import fast_json"', 'venv/bin/python -c "import lib"']
    assert all(run.may_do_nothing for run in runs if " -c " in run.command)


def test_sources_of_cython_are_translated_before_setup_py_compiles_the_result() -> None:
    files = {"p/_fast.pyx": "", "p/__init__.py": "", "setup.py": 'Extension("p._fast", sources=["p/_fast.c"])'}
    shared, in_place, own_environment = (proposal.command for proposal in python.propose(listing(files)))
    translation = "venv/bin/python -m cython p/_fast.pyx && "
    assert "--system-site-packages venv && " + translation + "venv/bin/python -m pip install" in shared
    assert translation + "venv/bin/python setup.py" in in_place
    assert "--no-index cython || { venv/bin/python -m pip download" in own_environment
    assert "; }; } && " + translation + "{ venv/bin/python -m pip install" in own_environment
    named = files | {"setup.py": 'cythonize("p/_fast.pyx")  # makes p/_fast.c'}
    assert not any("cython" in proposal.command for proposal in python.propose(listing(named)))
    assert not any("cython" in proposal.command for proposal in python.propose(listing(files | {"p/_fast.c": ""})))


def test_python_modules_without_a_package_are_imported() -> None:
    setup = 'setup(ext_modules=[Extension("fastjson", sources=["json.c"])], py_modules=["plain"])\n'
    project = '[project]\nname = "fast-json"\n[tool.setuptools]\npy-modules = ["more"]\n'
    files = {"pyproject.toml": project, "setup.py": setup, "fastjson-stubs/__init__.pyi": "", "src/json.c": ""}
    commands = [run.command for run in python.propose(listing(files))[0].runs]
    modules = ["fastjson", "plain", "more", "fast_json"]
    assert commands == [f'venv/bin/python -c "import {name}"' for name in modules]


def test_the_tests_of_a_python_package_are_run_with_what_they_require() -> None:
    project = '[project]\nname = "p"\noptional-dependencies.test = ["hypothesis>=6"]\n'
    files = {"pyproject.toml": project, "p/__init__.py": "", "tests/test_p.py": "", "tests/more/test_q.py": ""}
    assert not [run for proposal in python.propose(listing(files))[:-1] for run in proposal.runs if run.is_test]
    tests = python.propose(listing(files))[-1]
    (run,) = tests.runs
    assert run.command == "venv/bin/python -m pytest -q -p no:cacheprovider -o addopts= tests"
    assert run.is_test
    assert '--no-index -e . pytest "hypothesis>=6" || ' in tests.command
    assert tests.environment == {"PIP_FIND_LINKS": "{home}/.cache/faultwatch/pip"}
    del files["tests/test_p.py"], files["tests/more/test_q.py"]
    assert not any(run.is_test for proposal in python.propose(listing(files)) for run in proposal.runs)


def test_tests_find_the_installed_package_rather_than_sources_without_its_extension() -> None:
    project = '[build-system]\nbuild-backend = "mesonpy"\n'
    tests = python.propose(listing({"pyproject.toml": project, "p/__init__.py": "", "p/tests/test_p.py": ""}))[-1]
    assert tests.runs[0].command == "venv/bin/python -P -m pytest -q -p no:cacheprovider -o addopts= p/tests"
    assert "--no-index . pytest || " in tests.command


def test_tests_whose_names_end_in_test_are_run_too() -> None:
    files = {
        "setup.py": "",
        "p/__init__.py": "",
        "tests/map_test.py": "pass\n",
        "tests/set_test.py": "",
        "tests/t.py": "",
    }
    tests = python.propose(listing(files))[-1]
    assert [run.command.rpartition(" ")[2] for run in tests.runs] == ["tests", "tests/map_test.py", "tests/set_test.py"]


def test_benchmarks_among_the_tests_are_tried_and_what_pytest_reads_is_not() -> None:
    files = {"setup.py": "", "p/__init__.py": "", "tests/benchmark.py": "run()", "vendor/bench.py": ""}
    files |= {"benchmarks/test_speed.py": "", "benchmarks/speed.py": "run()", "tests/test_benchmark.py": ""}
    commands = [run.command for run in python.propose(listing(files))[0].runs]
    assert commands[:2] == ["venv/bin/python benchmarks/speed.py", "venv/bin/python tests/benchmark.py"]
    assert not any("test_" in command or "vendor" in command for command in commands)


def test_benchmarks_that_only_asv_runs_are_no_scripts() -> None:
    """As scripts they define classes, and end."""
    files = {"setup.py": "", "p/__init__.py": "", "perf/benchmarks/sort.py": "run()", "benchmarks/own.py": "run()"}
    settings = '{\n    // where they are\n    "benchmark_dir": "benchmarks",\n}'
    proposal, *_ = python.propose(listing(files | {"perf/asv.conf.json": settings}))
    commands = [run.command for run in proposal.runs]
    assert "venv/bin/python benchmarks/own.py" in commands
    assert not [command for command in commands if "sort" in command]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ('"""Times."""\nimport numpy\nSIZE = 2\n\ndef run(): ...\n\nclass A: ...\n', False),
        ("def run(): ...\nrun()\n", True),
        ("import numpy\na = numpy.zeros(9)\n", True),
        ("def run(): ...\nif __name__ == '__main__':\n    run()\n", True),
        ("for size in (1, 2):\n    print(size)\n", True),
        ("print 'of an old Python'\n", True),
    ],
)
def test_a_script_that_only_defines_is_no_benchmark(text: str, runs: bool) -> None:
    proposal, *_ = python.propose(listing({"setup.py": "", "p/__init__.py": "", "benchmarks/a.py": text}))
    assert ("venv/bin/python benchmarks/a.py" in [run.command for run in proposal.runs]) == runs


@pytest.mark.parametrize("asks", [{"versioneer.py": ""}, {"pyproject.toml": "[tool.versioneer]\nVCS = 'git'"}])
def test_a_package_that_asks_git_for_its_version_is_installed(asks: dict[str, str]) -> None:
    """In its sources, it starts git whenever it is imported, and all of git's faults would be counted."""
    proposals = python.propose(listing({"setup.py": "", "p/__init__.py": ""} | asks))
    commands = [proposal.command for proposal in proposals]
    assert not [command for command in commands if " -e " in command or "inplace" in command]
    assert [run.command for run in proposals[0].runs] == ['venv/bin/python -P -c "import p"']


def test_python_packages_are_built_offline_first() -> None:
    files = {"pyproject.toml": '[project]\nname = "p"\n[project.scripts]\nptool = "p:main"\n', "src/p/__init__.py": ""}
    first, second = python.propose(listing(files | {"benchmarks/bench_a.py": "run()"}))
    assert "--no-index" in first.command
    assert second.command.index("--no-index") < second.command.index("pip download"), "with what was kept first"
    commands = [run.command for run in first.runs]
    assert commands[0] == "venv/bin/python benchmarks/bench_a.py"
    assert "venv/bin/ptool" in commands
    assert commands[-1] == 'venv/bin/python -c "import p"'


def test_the_examples_of_a_library_that_are_packages_of_their_own_are_built() -> None:
    package = '[package]\nname = "e-{}"\n[dependencies]\nlib = {{ path = "../.." }}\n{}'
    files = {"Cargo.toml": '[package]\nname = "lib"\n', "src/lib.rs": ""}
    for name, dependencies in {"words": 'fst = "1"', "plain": "", "site": 'axum = "0.8"'}.items():
        files |= {f"examples/{name}/Cargo.toml": package.format(name, dependencies), f"examples/{name}/src/main.rs": ""}
    first, *others = cargo.propose(listing(files))
    start = "cargo build --release --manifest-path examples/{}/Cargo.toml --target-dir target/examples"
    assert first.command == f"sh -c '{start.format('plain')} && {start.format('words')}'"
    assert first.runs[0].command == "sh -c 'cd examples/plain && exec ../../target/examples/release/e-plain'"
    assert first.runs[0].program == "target/examples/release/e-plain"
    assert not any("--examples" in other.command for other in others), "the package itself has none"
    first, *_ = cargo.propose(listing(files | {"examples/one.rs": ""}))
    assert first.command == "cargo build --release --examples"
    tests, _ = cargo.propose(listing(files | {"tests/all.rs": ""}))
    assert tests.runs[0].is_test, "the examples often run for long"


def test_fortran_files_are_compiled_after_the_modules_that_they_use() -> None:
    files = {
        "a_main.f90": "program main\n  use fields\nend program\n",
        "fields.f90": "MODULE Fields\n  use, non_intrinsic :: kinds\nend module\n",
        "kinds.f90": "module kinds\nend module\n",
    }
    (proposal,) = fortran.propose(listing(files))
    assert proposal.command.endswith("-o program kinds.f90 fields.f90 a_main.f90'") or proposal.command.endswith(
        "-o program kinds.f90 fields.f90 a_main.f90"
    )
    circle = {"a.f90": "module a\nuse b\nend", "b.f90": "module b\nuse a\nend"}
    assert sorted(fortran.sort_files_by_dependency(circle)) == ["a.f90", "b.f90"]


def test_a_fortran_program_that_lacks_modules_outside_the_tests_is_compiled_with_those_of_the_tests() -> None:
    files = {
        "ide/all.f90": "program all\n  use checks\nend program\n",
        "test/checks.f90": "module checks\nend module\n",
        "src/other.f90": "module other\nend module\n",
    }
    (proposal,) = fortran.propose(listing(files))
    assert proposal.command == "gfortran -O2 -g -o ide-all test/checks.f90 ide/all.f90"
    (proposal,) = fortran.propose(listing({"all.f90": "program all\n  use mpi\nend program\n"}))
    assert proposal.command.endswith("-o program all.f90"), "the compiler says what this host lacks"


def test_the_programs_of_a_fortran_library_are_compiled_with_what_they_use() -> None:
    files = {
        "fpm.toml": 'name = "quad"\n',
        "src/quad.F90": "module quad\n  use kinds\n  use, intrinsic :: iso_fortran_env\nend module\n",
        "src/kinds.f90": "module kinds\nend module\n",
        "src/plot.f90": "module plot\n  use hdf5\nend module\n",
        "src/old.f": "      subroutine old(x)\n      end\n",
        "test/helpers.f90": "module helpers\n  use quad\nend module\n",
        "test/check.f90": "program check\n  use helpers\nend program\n",
        "example/show.f90": "program show\n  use quad\nend program\n",
        "example/draw.f90": "program draw\n  use plot\nend program\n",
    }
    _, *proposals = fortran.propose(listing(files))
    steps = [
        "gfortran -O2 -g -o example-show src/kinds.f90 src/quad.F90 example/show.f90 src/old.f",
        "gfortran -O2 -g -o test-check src/kinds.f90 src/old.f src/quad.F90 test/helpers.f90 test/check.f90",
    ]
    commands = [proposal.command for proposal in proposals]
    assert len(commands) == 3
    assert [sorted(command.split()) for command in commands[1:]] == [sorted(step.split()) for step in steps]
    assert commands[0].split()[-3:] == ["src/quad.F90", "test/helpers.f90", "test/check.f90'"]


def test_scripts_that_a_setup_file_installs_are_tried() -> None:
    files = {"setup.py": 'setup(name="p", scripts=["bin/run", "bin/walk"])', "p/__init__.py": ""}
    commands = [run.command for run in python.propose(listing(files))[0].runs]
    assert commands[0] == "venv/bin/run"
    assert "venv/bin/walk" in commands


@pytest.mark.parametrize(
    "files",
    [
        {"setup.py": 'setup(entry_points={"console_scripts": ["p-run = p.cli:main", "p2=p:m"], "x": ["y = p:z"]})'},
        {
            "setup.py": "setup()",
            "setup.cfg": "[options.entry_points]\nconsole_scripts =\n    p-run = p.cli:main\n    p2=p:m\n",
        },
        {"pyproject.toml": '[build-system]\n[tool.poetry.scripts]\np-run = "p.cli:main"\np2 = "p:m"\n'},
    ],
)
def test_the_commands_that_a_package_installs_are_tried(files: dict[str, str]) -> None:
    runs = python.propose(listing({**files, "p/__init__.py": ""}))[0].runs
    assert [run.command for run in runs if run.takes_files] == ["venv/bin/p-run", "venv/bin/p2"]


def test_what_a_command_of_the_users_own_installs_can_be_downloaded_before() -> None:
    sources = listing({"pyproject.toml": '[build-system]\nrequires = ["setuptools>=80"]\n'})
    begin = "python3 -m pip download --dest ~/.cache/faultwatch/pip "
    for command, needed in {
        "sh -c python3 -m venv venv && venv/bin/pip install --quiet -e .": '. "setuptools>=80"',
        "venv/bin/python -m pip install -r requirements.txt numpy": "-r requirements.txt numpy",
    }.items():
        assert python.build_download_command(sources, command) == begin + needed
    assert python.build_download_command(sources, "make") == ""


def test_what_builds_a_python_package_is_kept_for_the_gate() -> None:
    project = (
        """[build-system]\nrequires = ["setuptools>=80", "tomli; python_version < '3.11'"]\n[project]\nname = "p"\n"""
    )
    *_, online = python.propose(listing({"pyproject.toml": project, "p/__init__.py": ""}))
    assert '. "setuptools>=80" "tomli; python_version < \\"3.11\\""; ' in online.command
    assert online.command.index("--no-index") < online.command.index("pip download")
    project = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "p"\n'
    *_, online = python.propose(listing({"pyproject.toml": project, "p/__init__.py": ""}))
    assert '. "hatchling" "editables"; ' in online.command, "which hatchling asks for as soon as it runs"


_MAIN = "public class X {\n    public static void main(String[] arguments) {}\n}\n"


def test_classes_with_a_main_method_are_run_benchmarks_first() -> None:
    files = {"src/app/App.java": f"package app;\n{_MAIN}", "src/app/Part.java": "package app; class Part {}"}
    (proposal,) = java.propose(listing(files))
    assert proposal.command == "sh -c 'javac -d faultwatch-classes src/app/*.java'"
    start = "java -cp faultwatch-classes app.App"
    assert [run.command for run in proposal.runs] == [start, f"{start} --help"]
    with_files = add_file_runs(proposal.runs, listing({**files, "test/data/a.json": ""}))
    assert [run.command for run in with_files if run.file and not run.is_fallback] == [
        f"{start} test/data/a.json",
        f"{start} src/app/Part.java",
    ]
    assert {run.program for run in with_files} == {start}
    files |= {"src/bench/DecodeBenchmark.java": f"package bench;\n{_MAIN}", "test/Tests.java": _MAIN}
    (build,) = java.propose(listing({**files, "pom.xml": "<project/>"}))
    assert "--offline" not in build.command, "the next host may have no packages yet"
    assert [(run.command, run.may_do_nothing) for run in build.runs] == [
        ("java -cp target/classes:target/dependency/* bench.DecodeBenchmark", False),
        ("java -cp target/classes:target/dependency/* app.App", True),
        ("java -cp target/classes:target/dependency/* app.App --help", True),
    ]
    assert java.propose(listing({**files, "build.gradle": "", "gradlew": ""}))[0].command.startswith("./gradlew ")
    assert java.propose(listing({"src/Part.java": "class Part {}"})) == []


def test_of_several_modules_of_maven_those_with_a_main_class_are_built() -> None:
    modules = "<modules><module>core</module><module>bench</module><module>broken</module></modules>"
    files = {
        "pom.xml": f"<project>{modules}</project>",
        "bench/src/main/java/b/Bench.java": f"package b;\n{_MAIN}",
        "core/src/main/java/c/App.java": f"package c;\n{_MAIN}",
        "other/App.java": _MAIN,
    }
    builds = java.propose(listing(files))
    assert "mvn --quiet --batch-mode -pl bench -am -DskipTests package" in builds[0].command
    assert [run.command for run in builds[0].runs] == [
        "java -cp bench/target/classes:bench/target/dependency/* b.Bench"
    ]
    assert " -pl core -am " in builds[1].command, "a class outside of the modules is not compiled"


def test_scripts_of_node_run_without_npm_where_they_are_one_command() -> None:
    package = '{"scripts": {"bench": "node bench.js --all", "bench:x": "node x | sort", "start": "node server.js"}}'
    (proposal,) = node.propose(listing({"package.json": package}))
    assert proposal.command == ""
    assert [(run.command, run.may_do_nothing) for run in proposal.runs] == [
        ("node --single-threaded --predictable bench.js --all", False),
        ("npm run --silent bench:x", False),
        ("node --single-threaded --predictable server.js", True),
    ]
    package = '{"scripts": {"build": "tsc"}, "dependencies": {"x": "1"}, "main": "dist/index.js"}'
    (proposal,) = node.propose(listing({"package.json": package, "package-lock.json": "{}"}))
    assert proposal.command == "sh -c 'npm ci --prefer-offline --no-audit --no-fund && npm run build'"
    assert [run.command for run in proposal.runs] == ["node --single-threaded --predictable dist/index.js"]


def test_a_script_of_node_that_builds_first_is_run_without_that() -> None:
    package = '{"scripts": {"build": "tsc", "bench": "npm run build && node bench.js", "bench:x": "npm run build"}}'
    (proposal,) = node.propose(listing({"package.json": package}))
    assert [run.command for run in proposal.runs] == [
        "node --single-threaded --predictable bench.js",
        "npm run --silent bench:x",
    ]


def test_a_program_of_node_gets_inputs_and_no_packages_that_only_developers_need() -> None:
    package = '{"bin": {"minjs": "bin/minjs"}, "main": "lib/x.js", "devDependencies": {"t": "1"}}'
    sources = listing({"package.json": package, "test/input/a.js": ""})
    (proposal,) = node.propose(sources)
    assert proposal.command == ""
    assert [(run.command, run.input_file, run.program) for run in add_file_runs(proposal.runs, sources)] == [
        ("node --single-threaded --predictable bin/minjs", "", "bin/minjs"),
        ("node --single-threaded --predictable bin/minjs test/input/a.js", "test/input/a.js", "bin/minjs"),
        (
            "node --single-threaded --predictable bin/minjs test/input/a.js faultwatch-output.js",
            "test/input/a.js",
            "bin/minjs",
        ),
        ("node --single-threaded --predictable bin/minjs . test/input/a.js", "test/input/a.js", "bin/minjs"),
        (
            "node --single-threaded --predictable bin/minjs . x test/input/a.js",
            "test/input/a.js",
            "bin/minjs",
        ),
        ("node --single-threaded --predictable bin/minjs --help", "", "bin/minjs"),
        ("node --single-threaded --predictable lib/x.js", "", "lib/x.js"),
    ]
    (proposal,) = node.propose(
        listing({"package.json": package.replace('"main"', '"dependencies": {"d": "1"}, "main"')})
    )
    assert proposal.command.startswith("sh -c 'npm install --omit=dev --prefer-offline --no-audit --no-fund || ")


def test_a_program_of_node_that_is_a_file_of_the_project_may_work_without_a_build() -> None:
    package = '{"scripts": {"build": "pnpm x"}, "bin": "./bin/x.js", "main": "dist/x.js", "dependencies": {"d": "1"}}'
    _, without_build = node.propose(listing({"package.json": package, "bin/x.js": ""}))
    assert without_build.command.startswith("sh -c 'npm install --omit=dev --prefer-offline --no-audit --no-fund || ")
    assert [run.command for run in without_build.runs] == [
        "node --single-threaded --predictable ./bin/x.js",
        "node --single-threaded --predictable ./bin/x.js --help",
    ]
    assert len(node.propose(listing({"package.json": package}))) == 1, "the build makes the program"


def test_the_packages_in_folders_are_run_where_the_one_at_the_top_names_nothing() -> None:
    files = {
        "package.json": '{"scripts": {"build": "rollup -c"}, "devDependencies": {"r": "1"}}',
        "core/package.json": '{"bin": {"core": "bin/core"}, "main": "./dist/core.js"}',
        "a-walk/package.json": '{"main": "dist/walk.js"}',
        "test/package.json": '{"main": "x.js"}',
    }
    proposal, *_ = node.propose(listing(files))
    assert proposal.command.endswith(" && npm run build'")
    assert [(run.command, run.takes_files) for run in proposal.runs] == [
        ("node --single-threaded --predictable core/bin/core", True),
        ("node --single-threaded --predictable core/bin/core --help", False),
        ("node --single-threaded --predictable a-walk/dist/walk.js", False),
        ("node --single-threaded --predictable core/dist/core.js", False),
    ]
    top = '{"main": "x.js"}'
    (proposal,) = node.propose(listing({**files, "package.json": top}))
    assert [run.command for run in proposal.runs] == ["node --single-threaded --predictable x.js"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"scripts": []}', '{"scripts": {"bench": 1}}', "[" * 100_000])
def test_a_strange_package_file_proposes_nothing(text: str) -> None:
    assert node.propose(listing({"package.json": text})) == []


def test_scripts_that_start_the_project_are_run_by_the_shell_that_they_name() -> None:
    files = {"run.sh": "#!/usr/bin/env bash\n", "scripts/bench_all.sh": "#!/bin/sh\n", "clean.sh": "", "a/b/run.sh": ""}
    assert [(run.command, run.may_do_nothing) for run in scripts.list_run_proposals(listing(files))] == [
        ("sh scripts/bench_all.sh", False),
        ("bash run.sh", True),
    ]
    assert scripts.propose(listing({"clean.sh": ""})) == []


def test_the_default_target_of_a_makefile_builds_more_than_the_target_of_the_projects_name() -> None:
    rules = "all: project tests\nproject: main.c\n\tcc -o project main.c\ntests: sums.c\n\tcc -o tests sums.c\n"
    proposals = make.propose(listing({"Makefile": rules}, name="project"))
    assert [(proposal.command.split()[-1].strip("'"), proposal.builds_tests) for proposal in proposals[:2]] == [
        ("project", False),
        ("-j$(nproc)", True),
    ]
    (alone, *_) = make.propose(listing({"Makefile": "all: main.c\n\tcc -o project main.c\n"}))
    assert not alone.builds_tests


def test_the_folders_that_a_makefile_makes_for_its_tests_are_found() -> None:
    text = (
        "DIR = made\ntest: all\n\trm -rf testdb && mkdir -p testdb $(DIR)/b; ./mtest\n"
        "install:\n\tmkdir -p $(DESTDIR)/lib /etc\n"
    )
    sources = listing({"lib/x/Makefile": text})
    assert make.list_made_folders(sources, "lib/x") == ["made/b", "testdb"]
    assert make.list_made_folders(sources, "") == []
    assert make.list_made_folders(listing({"Makefile": text, "testdb/x": ""}), "") == ["made/b"]


def test_the_largest_files_of_tests_are_tried_too_because_all_tests_may_take_long() -> None:
    texts = {f"tests/test_{name}.py": "pass\n" * size for name, size in zip("abcd", (3, 9, 1, 5), strict=True)}
    *_, tests = python.propose(listing({"pyproject.toml": "[project]\nname='p'\n", "p/__init__.py": "", **texts}))
    words = [run.command.rpartition(" ")[2] for run in tests.runs]
    assert words == ["tests", "tests/test_b.py", "tests/test_d.py", "tests/test_a.py"]
    assert len({run.program for run in tests.runs}) == 4
    assert all(run.is_test for run in tests.runs)


def test_a_requirement_with_a_version_can_be_downloaded_by_the_shown_command() -> None:
    command = 'venv/bin/python -m pip install -e . pytest "numpy>=2, <3" "tomli; python_version < \\"3.11\\"" || exit'
    download = python.build_download_command(listing({"setup.py": ""}), command)
    assert shlex.split(download)[-6:] == [
        ".",
        "pytest",
        "numpy>=2, <3",
        'tomli; python_version < "3.11"',
        "setuptools",
        "wheel",
    ]


def test_the_proposed_tests_of_a_python_package_do_not_depend_on_the_process() -> None:
    files = {f"packages/{name}/tests/test_a.py": "" for name in ascii_lowercase}
    *_, tests = python.propose(listing({"setup.py": "", **files}))
    assert tests.runs[0].command.endswith(" packages/a/tests")


def test_thousands_of_modules_that_use_each_other_are_sorted() -> None:
    files = {f"{number}.f90": f"module m{number}\nuse m{number + 1}\nend\n" for number in range(3000)}
    assert fortran.sort_files_by_dependency(files) == list(reversed(files))


def test_a_makefile_with_thousands_of_targets_in_a_row_is_read_quickly() -> None:
    text = "".join(f"t{number + 1}: t{number}\n" for number in range(15_000)) + "t0:\n\tdocker run x\n"
    started_at = time.monotonic()
    assert len(make.find_outside_targets(text)) == 15_001
    assert time.monotonic() - started_at < 8, "examining each target at each step takes twice as long"


def test_the_target_for_a_usual_machine_is_made_if_each_has_a_makefile() -> None:
    text = "help:\n\t@echo make MACHINE\nintel cray openmpi phi:\n\t$(MAKE) -f Makefile.$@ prog\nclean:\n\trm -f prog\n"
    files = {"ref/Makefile": text} | {f"ref/Makefile.{name}": "" for name in ("intel", "cray", "openmpi", "phi")}
    commands = [proposal.command for proposal in make.propose(listing(files))]
    assert commands == ["sh -c 'make -C ref -j$(nproc)'", "sh -c 'make -C ref -j$(nproc) openmpi'"]


def test_each_part_of_the_default_target_builds_less_than_the_project() -> None:
    makefile = "all: one two\none:\n\t$(MAKE) -C one\ntwo:\n\t$(MAKE) -C two\n"
    is_reduced = {build.command: build.is_reduced for build in make.propose(listing({"Makefile": makefile}))}
    assert is_reduced["sh -c 'make -j$(nproc)'"] is False
    assert is_reduced["sh -c 'make -j$(nproc) one'"] is True
    assert is_reduced["sh -c 'make -j$(nproc) two'"] is True


def test_make_gets_the_variables_with_which_a_document_chooses_a_usual_compiler() -> None:
    makefile = "CC_GNU = gcc\nFC_GNU = gfortran\nCC = $(CC_$(COMPILER))\nall: solve\nsolve: a.c\n\t$(CC) -o $@ a.c\n"

    def list_commands(readme: str) -> list[str]:
        files = {"Makefile": makefile + "# $(COMPILER)\n", "README.md": readme, "a.c": ""}
        return [proposal.command for proposal in make.propose(listing(files))]

    readme = "Type `make COMPILER=INTEL`, or `make COMPILER=GNU CC=gcc`.\n"
    default, assigned, *_ = list_commands(readme)
    assert (default, assigned) == ("sh -c 'make -j$(nproc)'", "sh -c 'make -j$(nproc) COMPILER=GNU CC=gcc'")
    plain = list_commands("make")
    for other in (
        "make COMPILER=INTEL",
        "make DEBUG=1",
        "make KIND=gcc",
        "make COMPILER=GNU PREFIX=/usr",
        "cmake CC=gcc",
    ):
        assert list_commands(other) == plain, other
