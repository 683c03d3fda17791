"""A shell script, for all other CI systems."""

from collections.abc import Collection

from runner.ci.system import CiSystem, FileLocation, find_marked_file

_OTHER_CI = {
    ".appveyor.yml": "AppVeyor",
    "appveyor.yml": "AppVeyor",
    ".azure-pipelines/": "Azure Pipelines",
    "azure-pipelines.yml": "Azure Pipelines",
    "bitbucket-pipelines.yml": "Bitbucket Pipelines",
    ".buildkite/": "Buildkite",
    ".builds/": "SourceHut",
    ".circleci/": "CircleCI",
    ".cirrus.yml": "Cirrus CI",
    ".drone.yml": "Drone",
    ".semaphore/": "Semaphore",
    ".teamcity/": "TeamCity",
    ".travis.yml": "Travis CI",
    ".woodpecker/": "Woodpecker CI",
    ".woodpecker.yml": "Woodpecker CI",
}
"""Systems without a template, by the file or folder that shows that a project uses them."""


def _choose_location(files: Collection[str]) -> FileLocation:
    """Return where the script of the gate is written, and how to call it from a CI system without a template."""
    file = find_marked_file(files, *_OTHER_CI)
    name = next((name for marker_path, name in _OTHER_CI.items() if find_marked_file([file], marker_path)), "")
    instruction = (
        f"init cannot write a CI file for {name} ({file}): call the script from your CI job"
        if file
        else "no CI system was found: run the script"
    )
    return FileLocation(
        "faultwatch-gate.sh",
        f"{instruction} on a machine with Faultwatch installed; the script compares HEAD with the target branch",
    )


SHELL = CiSystem("shell", "shell.sh", _choose_location, is_program=True)
