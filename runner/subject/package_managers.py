"""Package managers: where they keep downloaded packages, and how to recognise that a build tried to download more."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct


class PackageManager(Struct, frozen=True):
    """A program that downloads what a build needs.

    Attributes
    ----------
    name
        As people call it.
    programs
        The commands that start it.
    variable
        The variable that names the folder of downloaded packages.
    folder
        The path of that folder, as a workload file writes it.
    parts
        What of the folder holds packages; everything if empty. Beside them may lie what nobody else should read, such
        as Cargo's credentials.
    download
        What a build command has to contain to fill the folder; any command does if empty.
    """

    name: str
    programs: tuple[str, ...]
    variable: str
    folder: str
    parts: tuple[str, ...] = ()
    download: str = ""

    def list_places(self, folder: Path) -> list[Path]:
        """Return the parts of the folder that a sandbox has to show."""
        return [folder / part for part in self.parts if (folder / part).exists()] if self.parts else [folder]

    def describe_filling(self, command: Iterable[str]) -> str:
        """Return how a user can fill the folder for a build command."""
        if self.download and not any(self.download in part for part in command):
            return f"fill it with `{self.download} --dest FOLDER PACKAGE...`"
        return (
            "fill it with `faultwatch measure WORKLOAD` on this host as this user, which builds outside of the "
            "sandbox, with a network"
        )


CARGO = PackageManager("Cargo", ("cargo",), "CARGO_HOME", "{home}/.cargo", ("registry", "git", "config.toml"))
GO = PackageManager("Go", ("go",), "GOMODCACHE", "{home}/go/pkg/mod")
PIP = PackageManager("pip", ("pip", "pip3"), "PIP_FIND_LINKS", "{home}/.cache/faultwatch/pip", download="pip download")
MANAGERS = (CARGO, GO, PIP)
GO_CACHE_VARIABLES = {"GOCACHE": "{home}/.cache/go-build"}
"""What Go has compiled, its standard library above all: without this folder, once for each revision."""
OFFLINE_VARIABLES: Mapping[str, str] = {"CARGO_NET_OFFLINE": "true", "GOPROXY": "off", "PIP_NO_INDEX": "1"}
"""Tell the managers that there is no network: they use what they have, or fail at once instead of trying again."""
_FETCH_FAILURE = re.compile(r"\bBuild step for ([\w.+-]{1,60}) failed\b")
"""What CMake's FetchContent says of a project that it could not download."""
_MAX_LINE_CHARACTERS = 200
_WORD = re.compile(r"""(?:^|[\s/"'(;&|])([a-z]+3?)(?=\s)""")
_NETWORK_ERROR = re.compile(
    r"could not resolve host|couldn't resolve host|temporary failure in name resolution|name or service not known|"
    r"network is unreachable|failed to connect to|failed to lookup address|could not resolve hostname|no such host\b|"
    r"dial (?:tcp|udp)\b|disabled by GOPROXY=off|could not fetch url|TLS CA certificate bundle|newconnectionerror|"
    r"no matching distribution found|--offline was specified|offline was set|spurious network error|"
    r"unable to access 'https?://|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|download failed|error: downloading",
    re.IGNORECASE,
)


def find_managers(command: Iterable[str]) -> list[PackageManager]:
    """Return the package managers that the words of a command name, also those of a shell's command line."""
    words = {word for part in command for word in _WORD.findall(f"{part} ")}
    return [manager for manager in MANAGERS if not words.isdisjoint(manager.programs)]


def find_network_error(log: str) -> str:
    """Return the line of a failed build's log that reports a network error; empty if there is none."""
    return next((line.strip()[:_MAX_LINE_CHARACTERS] for line in log.splitlines() if _NETWORK_ERROR.search(line)), "")


def describe_offline_remedy(log: str) -> str:
    """Return how CMake's FetchContent can work offline, as a clause; empty if the build did not use it."""
    names = list(dict.fromkeys(_FETCH_FAILURE.findall(log)))
    if not names:
        return ""
    options = " ".join(f"-DFETCHCONTENT_SOURCE_DIR_{name.upper()}=FOLDER" for name in names)
    whose = f"keep the sources of {names[0]} in a folder" if len(names) == 1 else "keep the sources of each in a folder"
    return f"CMake's FetchContent downloads {', '.join(names)}: {whose}, and add {options} to the command"
