"""Finds out from the log of a build which tool, header or library it lacks, and which packages contain this part."""

import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from runner.subject.tool_search import find_missing_tool


class Packages(NamedTuple):
    """The packages that contain a part, by distribution."""

    debian: str
    fedora: str


class MissingPart(NamedTuple):
    """A tool, header or library that a build lacks.

    Attributes
    ----------
    name
        The name of the part in the log of the build.
    packages
        The packages that contain the part; None if they are unknown.
    update
        How to get a newer version of a tool, if that of this host is too old; empty if the part is missing.
    tool
        The command of a tool, for which other folders of this host may be searched; empty if the part is none.
    version
        The oldest version of the tool that suffices; empty if any does.
    """

    name: str
    packages: Packages | None
    update: str = ""
    tool: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.name} is missing: {self.remedy}"

    @property
    def remedy(self) -> str:
        """How to install or update the part."""
        if self.update:
            return self.update
        if self.packages is None:
            return f"install the package that provides {self.name}"
        return f"apt install {self.packages.debian}, or dnf install {self.packages.fedora}"


_TOOLS: Mapping[str, Packages] = {
    **{
        tool: Packages(tool, tool)
        for tool in (
            *("bison", "flex", "cmake", "meson", "gperf", "m4", "nasm", "yasm", "make", "cargo", "swig", "ragel"),
            *("re2c", "clang", "perl", "python3", "ruby", "npm", "maven", "doxygen", "pandoc", "asciidoc", "gawk"),
            *("help2man", "gettext", "bc", "ccache", "git", "unzip", "patch", "xxd", "lua", "php", "rake", "scons"),
        )
    },
    "yacc": Packages("bison", "byacc"),
    "lex": Packages("flex", "flex"),
    "autoreconf": Packages("autoconf automake", "autoconf automake"),
    "autoconf": Packages("autoconf", "autoconf"),
    "autoheader": Packages("autoconf", "autoconf"),
    "automake": Packages("automake", "automake"),
    "aclocal": Packages("automake", "automake"),
    "libtoolize": Packages("libtool", "libtool"),
    "libtool": Packages("libtool-bin", "libtool"),
    "autopoint": Packages("autopoint", "gettext-devel"),
    "msgfmt": Packages("gettext", "gettext"),
    "ninja": Packages("ninja-build", "ninja-build"),
    "pkg-config": Packages("pkg-config", "pkgconf-pkg-config"),
    "cc": Packages("gcc", "gcc"),
    "gcc": Packages("gcc", "gcc"),
    "c++": Packages("g++", "gcc-c++"),
    "g++": Packages("g++", "gcc-c++"),
    "clang++": Packages("clang", "clang"),
    "gfortran": Packages("gfortran", "gcc-gfortran"),
    **dict.fromkeys(
        ("mpicc", "mpicxx", "mpic++", "mpiCC", "mpif77", "mpif90", "mpifort"),
        Packages("libopenmpi-dev openmpi-bin", "openmpi-devel"),
    ),
    **dict.fromkeys(("mpirun", "mpiexec"), Packages("openmpi-bin", "openmpi")),
    "nvcc": Packages("nvidia-cuda-toolkit", "cuda-toolkit"),
    "h5cc": Packages("libhdf5-dev", "hdf5-devel"),
    "nf-config": Packages("libnetcdff-dev", "netcdf-fortran-devel"),
    "go": Packages("golang-go", "golang"),
    "node": Packages("nodejs", "nodejs"),
    "mvn": Packages("maven", "maven"),
    "java": Packages("default-jre-headless", "java-latest-openjdk-headless"),
    "javac": Packages("default-jdk-headless", "java-latest-openjdk-devel"),
    "jar": Packages("default-jdk-headless", "java-latest-openjdk-devel"),
    "tclsh": Packages("tcl", "tcl"),
    "protoc": Packages("protobuf-compiler", "protobuf-compiler"),
    "makeinfo": Packages("texinfo", "texinfo"),
    "xsltproc": Packages("xsltproc", "libxslt"),
    "rst2man": Packages("python3-docutils", "python3-docutils"),
}
_PYTHON_TOOLS: Mapping[str, str] = {
    **{tool: tool for tool in ("cython", "conan", "fypp", "maturin", "poetry", "uv", "hatch", "pdm", "tox", "nox")},
    "cythonize": "cython",
    "pybind11-config": "pybind11",
    "sphinx-build": "sphinx",
}
"""The package on PyPI of each tool of Python, whose packages of Debian name it otherwise or are too old."""
_LIBRARIES: Mapping[Packages, tuple[str, ...]] = {
    Packages("zlib1g-dev", "zlib-devel"): ("zlib", "z"),
    Packages("libbz2-dev", "bzip2-devel"): ("bzip2", "bz2", "bzlib"),
    Packages("liblzma-dev", "xz-devel"): ("lzma", "liblzma"),
    Packages("libzstd-dev", "libzstd-devel"): ("zstd", "libzstd"),
    Packages("liblz4-dev", "lz4-devel"): ("lz4", "liblz4"),
    Packages("libsnappy-dev", "snappy-devel"): ("snappy", "snappy-c"),
    Packages("libbrotli-dev", "brotli-devel"): ("brotli", "libbrotlienc", "libbrotlidec", "brotlienc", "brotlidec"),
    Packages("libssl-dev", "openssl-devel"): ("openssl", "ssl", "crypto", "libssl", "libcrypto"),
    Packages("libcurl4-openssl-dev", "libcurl-devel"): ("curl", "libcurl"),
    Packages("libevent-dev", "libevent-devel"): ("event", "event2", "libevent"),
    Packages("libev-dev", "libev-devel"): ("ev", "libev"),
    Packages("libuv1-dev", "libuv-devel"): ("uv", "libuv"),
    Packages("libpcre3-dev", "pcre-devel"): ("pcre", "libpcre"),
    Packages("libpcre2-dev", "pcre2-devel"): ("pcre2", "libpcre2-8", "pcre2-8"),
    Packages("libonig-dev", "oniguruma-devel"): ("oniguruma", "onig"),
    Packages("libreadline-dev", "readline-devel"): ("readline",),
    Packages("libedit-dev", "libedit-devel"): ("editline", "libedit", "edit"),
    Packages("libncurses-dev", "ncurses-devel"): ("ncurses", "ncursesw", "curses", "tinfo", "termcap", "term"),
    Packages("libexpat1-dev", "expat-devel"): ("expat",),
    Packages("libxml2-dev", "libxml2-devel"): ("libxml", "libxml2", "libxml-2.0", "xml2"),
    Packages("libsqlite3-dev", "sqlite-devel"): ("sqlite", "sqlite3"),
    Packages("libpng-dev", "libpng-devel"): ("png", "libpng"),
    Packages("libjpeg-dev", "libjpeg-turbo-devel"): ("jpeg", "jpeglib", "libjpeg"),
    Packages("libtiff-dev", "libtiff-devel"): ("tiff", "libtiff", "tiffio"),
    Packages("libwebp-dev", "libwebp-devel"): ("webp", "libwebp"),
    Packages("libfreetype-dev", "freetype-devel"): ("freetype", "freetype2"),
    Packages("libogg-dev", "libogg-devel"): ("ogg", "libogg"),
    Packages("libvorbis-dev", "libvorbis-devel"): ("vorbis", "libvorbis"),
    Packages("libflac-dev", "flac-devel"): ("flac", "libflac"),
    Packages("libopus-dev", "opus-devel"): ("opus", "libopus"),
    Packages("libsndfile1-dev", "libsndfile-devel"): ("sndfile", "libsndfile"),
    Packages("libcairo2-dev", "cairo-devel"): ("cairo",),
    Packages("libicu-dev", "libicu-devel"): ("icu", "icu-uc"),
    Packages("libharfbuzz-dev", "harfbuzz-devel"): ("harfbuzz",),
    Packages("libgmp-dev", "gmp-devel"): ("gmp",),
    Packages("libmpfr-dev", "mpfr-devel"): ("mpfr",),
    Packages("uuid-dev", "libuuid-devel"): ("uuid",),
    Packages("libffi-dev", "libffi-devel"): ("ffi", "libffi"),
    Packages("python3-dev", "python3-devel"): ("python", "python3"),
    Packages("libbenchmark-dev", "google-benchmark-devel"): ("benchmark",),
    Packages("libgtest-dev", "gtest-devel"): ("gtest", "googletest"),
    Packages("libgmock-dev", "gmock-devel"): ("gmock",),
    Packages("libboost-all-dev", "boost-devel"): ("boost",),
    Packages("libfmt-dev", "fmt-devel"): ("fmt",),
    Packages("libspdlog-dev", "spdlog-devel"): ("spdlog",),
    Packages("libabsl-dev", "abseil-cpp-devel"): ("absl", "abseil"),
    Packages("libgflags-dev", "gflags-devel"): ("gflags",),
    Packages("libgoogle-glog-dev", "glog-devel"): ("glog",),
    Packages("libprotobuf-dev", "protobuf-devel"): ("protobuf",),
    Packages("libyaml-dev", "libyaml-devel"): ("yaml", "yaml-0.1"),
    Packages("libjansson-dev", "jansson-devel"): ("jansson",),
    Packages("libjson-c-dev", "json-c-devel"): ("json-c",),
    Packages("nlohmann-json3-dev", "json-devel"): ("nlohmann", "nlohmann_json"),
    Packages("libsodium-dev", "libsodium-devel"): ("sodium", "libsodium"),
    Packages("libjemalloc-dev", "jemalloc-devel"): ("jemalloc",),
    Packages("libtbb-dev", "tbb-devel"): ("tbb",),
    Packages("libnuma-dev", "numactl-devel"): ("numa",),
    Packages("libstb-dev", "stb_image-devel"): ("stb_image", "stb/stb_image"),
    Packages("libsystemd-dev", "systemd-devel"): ("systemd", "libsystemd"),
    Packages("libglib2.0-dev", "glib2-devel"): ("glib", "glib-2.0", "gio-2.0"),
    Packages("libx11-dev", "libX11-devel"): ("x11",),
    Packages("libgl-dev", "mesa-libGL-devel"): ("gl", "opengl"),
    Packages("libsdl2-dev", "SDL2-devel"): ("sdl2",),
    Packages("libblas-dev", "blas-devel"): ("blas",),
    Packages("liblapack-dev", "lapack-devel"): ("lapack",),
    Packages("libopenblas-dev", "openblas-devel"): ("openblas",),
    Packages("libfftw3-dev", "fftw-devel"): ("fftw", "fftw3"),
    Packages("libhdf5-dev", "hdf5-devel"): ("hdf5",),
    Packages("libopenmpi-dev", "openmpi-devel"): ("mpi",),
    Packages("libeigen3-dev", "eigen3-devel"): ("eigen", "eigen3"),
    Packages("liblua5.4-dev", "lua-devel"): ("lua", "lua5.4", "lua5.3"),
    Packages("libcap-dev", "libcap-devel"): ("sys/capability", "libcap"),
    Packages("libseccomp-dev", "libseccomp-devel"): ("seccomp", "libseccomp"),
    Packages("libaio-dev", "libaio-devel"): ("libaio", "aio"),
    Packages("liburing-dev", "liburing-devel"): ("liburing", "uring"),
    Packages("libcunit1-dev", "CUnit-devel"): ("cunit",),
    Packages("check", "check-devel"): ("check",),
}
"""Packages by the name of a library: that of its header, for ``-l``, of pkg-config or of CMake, in lower case."""
_PACKAGES_BY_LIBRARY = {name: packages for packages, names in _LIBRARIES.items() for name in names}
_HEADER = re.compile(
    r"fatal error: (?:'([\w./+-]{1,200})' file not found|([\w./+-]{1,200}): No such file or directory)", re.MULTILINE
)
_LIBRARY = re.compile(
    r"""cannot\ find\ -l([\w.+-]{1,60})
    |No\ package\ '([\w.+-]{1,60})'\ found
    |Package\ '([\w.+-]{1,60})'(?:,\ required\ by\ '[^'\n]{1,60}',)?\ not\ found
    |Dependency\ "([\w.+-]{1,60})"\ not\ found
    |Could\ NOT\ find\ ([\w.+-]{1,60})\ \(missing
    |package\ configuration\ file\ provided\ by\ "([\w.+-]{1,60})"
    |required\ packages?\ were\ not\ found:\s+-\ ([\w.+-]{1,60})""",
    re.VERBOSE,
)
"""What the linker, pkg-config, Meson and CMake print about a missing library."""
_STATUS_LINE = re.compile(r"^-- .*$(?!\nCMake Error at \S*/FindPkgConfig\.cmake)", re.MULTILINE)
"""Lines of CMake about parts that it found, or did not find but can do without. They are not errors, except the one
before an error of pkg-config, which names the package."""
_CONFIGURE_ERROR = re.compile(
    r"^(?:\S*configure: |\S*meson\.build:\d+:\d+: )?error: "
    r"(.*\b(?:not found|missing|requires?|required|cannot find|needs?|install)\b.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_VERSION = r"(\d(?:[\w.]*\w)?)"
_MIN_RANGE = rf"is not in the allowed range \[?{_VERSION}(?:,\))?\.?[ \t]*$"
"""What Maven prints about a range without an upper limit. With one, the version of this host may be too new."""
_PATH_REMEDY = "and put its folder first in PATH under [build.environment]"
_OLD_TOOLS: tuple[tuple[re.Pattern[str], str, str, str], ...] = (
    (re.compile(r"\brequires rustc (\d[\w.]*)"), "Rust", "cargo", "run `rustup update`, or see https://rustup.rs"),
    (re.compile(r"\brequires go >= (\d[\w.]*)"), "Go", "go", "install it from https://go.dev/dl"),
    (re.compile(r"\bCMake (\d[\w.]*) or higher is required"), "CMake", "cmake", "run `pipx install cmake`"),
    (
        re.compile(r"\bMeson version is \S+ but project requires >= ?(\d[\w.]*)"),
        "Meson",
        "meson",
        "run `pipx install meson`",
    ),
    (
        re.compile(r"\bAutoconf version (\d[\w.]*) or higher is required"),
        "Autoconf",
        "autoconf",
        "install a newer release of it",
    ),
    (
        re.compile(r"\brequires a different Python: \S+ not in '[^'\n]{0,100}>=(\d[\w.]*)"),
        "Python",
        "",
        f"install it, {_PATH_REMEDY}",
    ),
    (
        re.compile(
            rf"\bDetected Maven Version: \S+ {_MIN_RANGE}|\brequires (?:Apache )?Maven (?:version )?{_VERSION}",
            re.MULTILINE,
        ),
        "Maven",
        "mvn",
        f"install it from https://maven.apache.org, {_PATH_REMEDY}",
    ),
    (
        re.compile(
            rf"\bDetected JDK\b.{{1,200}} {_MIN_RANGE}|\brelease version {_VERSION} not supported"
            rf"|\binvalid target release: {_VERSION}"
            rf"|\brequires (?:at least )?(?:Java|JDK|JVM)(?: runtime)?(?: version)? {_VERSION}",
            re.MULTILINE,
        ),
        "Java",
        "java",
        f"install its JDK, {_PATH_REMEDY}",
    ),
)
"""What build tools print if a project requires a newer version of a tool, the tool, its command, and its remedy.

The command of Python is left out: the first one on the user's ``PATH`` may be that of a virtual environment."""
_UNSTARTED_PROGRAM = re.compile(
    r"^FileNotFoundError: \[Errno 2\] No such file or directory: '([\w.+-]{1,60})'$", re.MULTILINE
)
"""What Python prints about a file that does not exist, which may be a program that a script starts."""
_REQUESTED_TOOL = re.compile(
    r"\b([\w.+-]{2,60}) (?:is |was )?not found[!.,;]{0,3}\s{1,40}please install\b", re.IGNORECASE
)
"""What the build files of a project print about a tool that the user has to install."""
_ORDINARY_WORDS = {"make", "check", "event", "edit", "term", "patch", "git", "go", "python", "benchmark", "node", "lua"}
"""Words in an error that are not names of packages, although they look like some."""
_COMPILER = re.compile(
    r"""No\ CMAKE_(C|CXX|Fortran)_COMPILER\ could\ be\ found
    |no\ acceptable\ (C|C\+\+|Fortran)\ compiler\ found
    |linker\ `(cc)`\ not\ found
    |Unknown\ compiler\(s\):\ \[\['(cc|c\+\+|gfortran)'\]""",
    re.VERBOSE,
)
"""What CMake, Autoconf, Cargo and Meson print if there is no compiler."""
_COMPILERS = {"C": "cc", "CXX": "c++", "C++": "c++", "Fortran": "gfortran"}
_MIN_NAME_CHARACTERS = 3
"""The length of the shortest word in an error that is taken for the name of a library."""
_TOOL_LINES = 12
"""How many lines at the end of a log are searched for a missing tool. A tool that was missing earlier may have been
optional, because the build continued."""


def find_missing_dependency(log: str, files: Collection[str] = ()) -> MissingPart | None:
    """Return the part that a failed build lacks on this host; None if its log does not show that one is missing.

    Parameters
    ----------
    files
        The names of the project's files. If a missing header is one of them, this host does not lack it.
    """
    return _find_old_tool(log) or _find_absent_part(log, files)


def find_missing_header(log: str) -> str:
    """Return the first header that a compiler did not find; empty if all were found."""
    match = _HEADER.search(log)
    return str(match[1] or match[2]) if match else ""


def _find_old_tool(log: str) -> MissingPart | None:
    """Return the tool that is too old for a project; None if the log names none."""
    for pattern, tool, command, update in _OLD_TOOLS:
        match = pattern.search(log)
        if match:
            version = next(filter(None, match.groups()))
            return MissingPart(f"{tool} {version} or later", None, update, tool=command, version=version)
    return None


def _find_absent_part(log: str, files: Collection[str]) -> MissingPart | None:
    """Return the header, tool, compiler or library that a build did not find; None if the log names none.

    The messages are tried in the order of their certainty.
    """
    if header := find_missing_header(log):
        own_names = {PurePosixPath(file).name for file in files}
        packages = _find_packages_of_header(header)
        # If no package is known for a header in quotes, it is probably one that the build should have generated.
        is_foreign = packages or f"<{header}>" in log
        is_missing = is_foreign and PurePosixPath(header).name not in own_names
        return MissingPart(header, packages) if is_missing else None
    last_lines = "\n".join(log.rstrip().splitlines()[-_TOOL_LINES:])
    if tool := find_missing_tool(last_lines) or _find_known_tool(log):
        return name_missing_tool(tool)
    if match := _COMPILER.search(log):
        compiler = next(filter(None, match.groups()))
        return name_missing_tool(_COMPILERS.get(compiler, compiler))
    if match := _LIBRARY.search(_STATUS_LINE.sub("", log)):
        library = next(filter(None, match.groups()))
        return MissingPart(library, _PACKAGES_BY_LIBRARY.get(library.lower()))
    for match in _CONFIGURE_ERROR.finditer(log):
        for word in re.findall(r"[\w.+-]*\w", match[1]):
            packages = _TOOLS.get(word) or _PACKAGES_BY_LIBRARY.get(word.lower())
            if packages and len(word) >= _MIN_NAME_CHARACTERS and word not in _ORDINARY_WORDS:
                return MissingPart(word, packages, tool=word if word in _TOOLS else "")
    return None


def _find_known_tool(log: str) -> str:
    """Return the first known tool that a script could not start, or asks to install; empty if there is none."""
    names = [*_UNSTARTED_PROGRAM.findall(log), *_REQUESTED_TOOL.findall(log)]
    return next((name for name in names if name in _TOOLS or name in _PYTHON_TOOLS), "")


def name_missing_tool(tool: str) -> MissingPart:
    """Return the missing part for a tool that this host lacks."""
    if tool in _PYTHON_TOOLS:
        return MissingPart(tool, None, f"run `pipx install {_PYTHON_TOOLS[tool]}`", tool=tool)
    return MissingPart(tool, _TOOLS.get(tool), tool=tool)


def _find_packages_of_header(header: str) -> Packages | None:
    """Return the packages of a header: by its name, or else by the folder in its path; None if they are unknown."""
    stem = header.lower().removesuffix(".h").removesuffix(".hpp")
    packages = _PACKAGES_BY_LIBRARY.get(stem)
    if packages is None and "/" in header:
        packages = _PACKAGES_BY_LIBRARY.get(header.lower().partition("/")[0])
    return packages
