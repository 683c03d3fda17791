import pytest

from runner.subject.missing_packages import find_missing_dependency, name_missing_tool

MAKE = "bison -d  awkgram.y\nmake: bison: No such file or directory\nmake: *** [makefile:60: awkgram.tab.c] Error 127\n"
GCC = "x.c:1:10: fatal error: {}: No such file or directory\n    1 | #include <{}>\ncompilation terminated.\n"
CMAKE = """CMake Error at /usr/share/cmake-3.25/Modules/FindPackageHandleStandardArgs.cmake:230 (message):
  Could NOT find ZLIB (missing: ZLIB_LIBRARY ZLIB_INCLUDE_DIR)
"""
CONFIG = """  By not providing "Findabsl.cmake" in CMAKE_MODULE_PATH this project has
  asked CMake to find a package configuration file provided by "absl", but
"""


def test_what_cmake_does_without_is_not_missing() -> None:
    optional = "-- Could NOT find Doxygen (missing: DOXYGEN_EXECUTABLE)\n--   No package 'cairo' found\n"
    assert find_missing_dependency(f"{optional}CMake Error at CMakeLists.txt:3 (message):\n  Set X to OFF\n") is None
    part = find_missing_dependency(optional + CMAKE)
    assert part
    assert part.name == "ZLIB"


def test_a_java_that_may_be_too_new_is_not_too_old() -> None:
    assert find_missing_dependency("Detected JDK Version: 17.0.8 is not in the allowed range [1.8,11).\n") is None


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (MAKE, "bison is missing: apt install bison, or dnf install bison"),
        (
            "cython m/_c.pyx\nmake: cython: No such file or directory\nmake: *** [Makefile:13: cython] Error 127\n",
            "cython is missing: run `pipx install cython`",
        ),
        (
            "      grep-regex@0.1.14 requires rustc 1.96\n",
            "Rust 1.96 or later is missing: run `rustup update`, or see https://rustup.rs",
        ),
        (
            "  CMake 3.31 or higher is required.  You are running version 3.25.1\n",
            "CMake 3.31 or later is missing: run `pipx install cmake`",
        ),
        (
            "go: go.mod requires go >= 1.27 (running go 1.26.8; GOTOOLCHAIN=local)\n",
            "Go 1.27 or later is missing: install it from https://go.dev/dl",
        ),
        (
            "meson.build:1:0: ERROR: Meson version is 1.0.1 but project requires >= 1.3\n",
            "Meson 1.3 or later is missing: run `pipx install meson`",
        ),
        (
            "ERROR: Package 'x' requires a different Python: 3.11.2 not in '>=3.12'\n",
            "Python 3.12 or later is missing: install it",
        ),
        (
            "ERROR: Package 'x' requires a different Python: 3.11.2 not in '!=3.14.1,>=3.12'\n",
            "Python 3.12 or later is missing: install it",
        ),
        (
            "[ERROR] Detected Maven Version: 3.8.7 is not in the allowed range [3.9,).\n[ERROR] -> [Help 1]\n",
            "Maven 3.9 or later is missing: install it from https://maven.apache.org",
        ),
        ("Detected Maven Version: 3.8.7 is not in the allowed range 3.9.1.\n", "Maven 3.9.1 or later is missing"),
        ("[ERROR] The plugin a:b:1 requires Maven version 3.9.0 -> [Help 1]\n", "Maven 3.9.0 or later is missing"),
        (
            "[ERROR] Detected JDK /usr/lib/jvm/a is version 17.0.8 which is not in the allowed range [21,).\n",
            "Java 21 or later is missing: install its JDK",
        ),
        ("[ERROR] Fatal error compiling: error: release version 21 not supported\n", "Java 21 or later is missing"),
        ("> error: invalid target release: 17\n", "Java 17 or later is missing"),
        ("This build requires at least Java 21, but runs with 17.\n", "Java 21 or later is missing"),
        ("configure.ac:3: error: Autoconf version 2.72 or higher is required\n", "Autoconf 2.72 or later is missing"),
        ("sh: 1: aclocal: not found\n", "aclocal is missing: apt install automake, or dnf install automake"),
        ("./x.sh: line 3: frobnicate: command not found\n", "frobnicate is missing: install the package that provides"),
        (GCC.format("zlib.h", "zlib.h"), "zlib.h is missing: apt install zlib1g-dev, or dnf install zlib-devel"),
        (
            "x.c:1:10: fatal error: 'openssl/ssl.h' file not found\n",
            "openssl/ssl.h is missing: apt install libssl-dev, or dnf install openssl-devel",
        ),
        ("/usr/bin/ld: cannot find -levent: No such file or directory\n", "event is missing: apt install libevent-dev"),
        (
            GCC.format("stb_image.h", "").replace("<>", '"stb_image.h"'),
            "stb_image.h is missing: apt install libstb-dev, or dnf install stb_image-devel",
        ),
        (
            "Package 'libpcre', required by 'virtual:world', not found\n",
            "libpcre is missing: apt install libpcre3-dev, or dnf install pcre-devel",
        ),
        (
            "-- Checking for module 'libpcre'\n--   Package 'libpcre', required by 'virtual:world', not found\n"
            "CMake Error at /usr/share/cmake-3.25/Modules/FindPkgConfig.cmake:607 (message):\n  A required package was "
            "not found\n",
            "libpcre is missing: apt install libpcre3-dev, or dnf install pcre-devel",
        ),
        ("No package 'libpcre2-8' found\n", "libpcre2-8 is missing: apt install libpcre2-dev"),
        (
            'meson.build:7:0: ERROR: Dependency "zlib" not found, tried pkgconfig\n',
            "zlib is missing: apt install zlib1g",
        ),
        (CMAKE, "ZLIB is missing: apt install zlib1g-dev, or dnf install zlib-devel"),
        (CONFIG, "absl is missing: apt install libabsl-dev, or dnf install abseil-cpp-devel"),
        (
            "configure: error: libevent is required.  You can get it from its site\n",
            "libevent is missing: apt install libevent-dev",
        ),
        ("  No CMAKE_CXX_COMPILER could be found.\n", "c++ is missing: apt install g++, or dnf install gcc-c++"),
        (
            "bin/meson.build:59:4: ERROR: Problem encountered: help2man is required to build documentation.\n",
            "help2man is missing: apt install help2man",
        ),
        ("configure: error: no acceptable C compiler found in $PATH\n", "cc is missing: apt install gcc"),
        (
            "make: mpicc: No such file or directory\n",
            "mpicc is missing: apt install libopenmpi-dev openmpi-bin, or dnf install openmpi-devel",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'protoc'\ngmake[1]: *** [all] Error 2\n"
            + "x\n" * 20,
            "protoc is missing: apt install protobuf-compiler, or dnf install protobuf-compiler",
        ),
        (
            "CMake Error at CMakeLists.txt:55 (message):\n  Preprocessor fypp not found! Please install fypp, see\n",
            "fypp is missing: run `pipx install fypp`",
        ),
        (
            'Can\'t exec "autopoint": No such file or directory at /usr/share/autoconf/FileUtils.pm line 293.\n'
            "autoreconf: error: autopoint failed with exit status: 2\n",
            "autopoint is missing: apt install autopoint, or dnf install gettext-devel",
        ),
        ("error: linker `cc` not found\n", "cc is missing: apt install gcc, or dnf install gcc"),
        ("meson.build:1:0: ERROR: Unknown compiler(s): [['cc'], ['gcc']]\n", "cc is missing: apt install gcc"),
        (
            "./configure: error: the HTTP rewrite module requires the PCRE library.\n",
            "PCRE is missing: apt install libpcre3-dev, or dnf install pcre-devel",
        ),
    ],
)
def test_the_missing_part_is_named_with_its_packages(log: str, sentence: str) -> None:
    assert str(find_missing_dependency(log)).startswith(sentence)


@pytest.mark.parametrize(
    "log",
    [
        "x.c:3: error: expected ';' before '}' token\nmake: *** [Makefile:3: x.o] Error 1\n",
        "FileNotFoundError: [Errno 2] No such file or directory: 'data.json'\n",
        "configure: error: make sure that all is found, as is required\n",
        "".join(["sh: 1: git: not found\n", *("cc -c x.c\n" for _ in range(20)), "x.c:3: error: no type\n"]),
    ],
)
def test_a_mistake_in_the_sources_is_nothing_missing(log: str) -> None:
    assert find_missing_dependency(log) is None


def test_a_header_of_the_project_is_not_missing_on_this_host() -> None:
    log = GCC.format("zlib.h", "zlib.h")
    assert find_missing_dependency(log, ["src/zlib.h"]) is None
    assert str(find_missing_dependency(GCC.format("frob.h", "frob.h"))).startswith("frob.h is missing")
    made_by_the_build = GCC.format("gen.h", "gen.h").replace("<gen.h>", '"gen.h"')
    assert find_missing_dependency(made_by_the_build) is None, "another job may not have made it yet"


def test_a_tool_that_the_build_names_has_packages_too() -> None:
    assert name_missing_tool("autoreconf").remedy.startswith("apt install autoconf automake")
