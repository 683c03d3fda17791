"""Package managers: recognises them in a command, and knows where each keeps downloaded packages."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct


class PackageManager(Struct, frozen=True):
    """A program that downloads what a build needs.

    Attributes
    ----------
    name
        The name for human readers.
    programs
        The commands that start the package manager.
    variable
        The environment variable for the folder of downloaded packages.
    option
        The option before the folder in the variable, if it contains options; empty if it contains only the folder.
    folder
        The path of this folder, as it is written in a workload file.
    package_folders
        The parts of the folder that contain packages; empty for all of it. Other parts may be secret, such as Cargo's
        credentials.
    download_command
        The words that a build command has to contain to fill the folder; empty if any command fills it.
    """

    name: str
    programs: tuple[str, ...]
    variable: str
    folder: str
    package_folders: tuple[str, ...] = ()
    download_command: str = ""
    option: str = ""

    @property
    def setting(self) -> str:
        """The text of the variable, as it is written in a workload file."""
        return f"{self.option}{self.folder}"

    def find_folder(self, environment: Mapping[str, str]) -> str:
        """Return the folder of downloaded packages that an environment sets; empty if it sets none."""
        text = environment.get(self.variable, "")
        if not self.option:
            return text
        return next((word.removeprefix(self.option) for word in text.split() if word.startswith(self.option)), "")

    def list_package_folders(self, folder: Path) -> list[Path]:
        """Return the existing parts of ``folder`` that contain packages, or the folder if all of it does.

        A sandbox has to show them.
        """
        if not self.package_folders:
            return [folder]
        # Unlike Path.exists, this is False in a folder that this user may not search.
        return [folder / part for part in self.package_folders if os.path.exists(folder / part)]  # noqa: PTH110

    def describe_filling(self, command: Iterable[str]) -> str:
        """Return how a user can fill the folder of downloaded packages for a build command."""
        # A build that downloads its packages itself fills the folder wherever it has network access.
        if self.download_command and not any(self.download_command in part for part in command):
            return f"fill it with `{self.download_command} --dest FOLDER PACKAGE...`"
        return (
            "run `faultwatch measure WORKLOAD` on this host as this user (this builds outside the sandbox, with "
            "network access, and so fills the package folder)"
        )


CARGO = PackageManager("Cargo", ("cargo",), "CARGO_HOME", "{home}/.cargo", ("registry", "git", "config.toml"))
GO = PackageManager("Go", ("go",), "GOMODCACHE", "{home}/go/pkg/mod")
PIP = PackageManager(
    "pip", ("pip", "pip3"), "PIP_FIND_LINKS", "{home}/.cache/faultwatch/pip", download_command="pip download"
)
NPM = PackageManager("npm", ("npm",), "npm_config_cache", "{home}/.npm", ("_cacache",))
MAVEN = PackageManager("Maven", ("mvn",), "MAVEN_OPTS", "{home}/.m2/repository", option="-Dmaven.repo.local=")
MANAGERS = (CARGO, GO, PIP, NPM, MAVEN)
GO_CACHE_VARIABLES = {"GOCACHE": "{home}/.cache/go-build"}
"""Go's build cache. Without it, Go would compile its standard library once for each revision."""
_WORD = re.compile(r"""(?:^|[\s/"'(;&|])([a-z]+3?)(?=\s)""")


def find_managers(command: Iterable[str]) -> list[PackageManager]:
    """Return the package managers that a command starts, including those in a command line for a shell."""
    words = {word for part in command for word in _WORD.findall(f"{part} ")}
    return [manager for manager in MANAGERS if not words.isdisjoint(manager.programs)]
