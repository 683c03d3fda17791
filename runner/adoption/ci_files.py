"""Writes the file that runs the gate in a project's CI. Pure."""

import re
from collections.abc import Sequence
from enum import StrEnum
from importlib import resources

from msgspec import Struct

from runner.adoption.sources import Sources
from runner.errors import FaultwatchError


class Ci(StrEnum):
    """A system that runs jobs for a project."""

    GITHUB = "github"
    GITLAB = "gitlab"
    FORGEJO = "forgejo"
    JENKINS = "jenkins"
    SHELL = "shell"
    NONE = "none"


class CiFile(Struct, frozen=True):
    """A file for a CI system.

    Attributes
    ----------
    path
        Relative to the top of the repository.
    executable
        Whether it is a program.
    remark
        What is left to do by hand, a sentence; empty if nothing is.
    """

    path: str
    text: str
    executable: bool = False
    remark: str = ""


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
"""Systems for which there is no file, by what a project has for them."""


def other_ci(sources: Sources) -> str:
    """Return a CI system that a project uses and for which there is no file, with its file; empty if there is none."""
    for file in sources.files:
        for begin, name in _OTHER_CI.items():
            if file == begin or (begin.endswith("/") and file.startswith(begin)):
                return f"{name} ({file})"
    return ""


def detect_ci(sources: Sources, remote: str = "") -> Ci:
    """Return the CI system that a project uses, by its files, else by the address of its remote."""
    by_file = {
        Ci.GITHUB: any(file.startswith(".github/workflows/") for file in sources.files),
        Ci.GITLAB: sources.has(".gitlab-ci.yml"),
        Ci.FORGEJO: any(file.startswith((".forgejo/", ".gitea/")) for file in sources.files),
        Ci.JENKINS: sources.has("Jenkinsfile"),
    }
    address = re.sub(r"^[a-z+]+://|^[^@/]*@", "", remote.lower()).partition("/")[0].partition(":")[0]
    words = {Ci.GITHUB: ("github",), Ci.GITLAB: ("gitlab",), Ci.FORGEJO: ("forgejo", "codeberg", "gitea")}
    by_address = {ci: any(name in address for name in names) for ci, names in words.items()}
    for evidence in (by_address, by_file):
        for ci, holds in evidence.items():
            if holds and (evidence is by_file or not any(by_file.values()) or by_file.get(ci)):
                return ci
    return Ci.SHELL


def ci_file(
    ci: Ci, sources: Sources, *, workload: str = "workload.toml", branch: str = "main", readable: Sequence[str] = ()
) -> CiFile | None:
    """Return the file for a CI system; None for :attr:`Ci.NONE`.

    Parameters
    ----------
    workload
        Path of the workload file in the repository.
    branch
        The branch into which changes are merged.
    readable
        Folders that the gate's sandbox has to show, beside those of the system.

    Raises
    ------
    FaultwatchError
        A name has characters that mean something to a shell or to the CI system.
    """
    if ci is Ci.NONE:
        return None
    place, template, remark = _place(ci, sources)
    text = resources.files(__package__).joinpath("ci_templates", template).read_text(encoding="utf-8")
    if not readable:
        text = _READ.sub("", text)
    text = _SUBMODULES.sub(r"\1" if sources.has(".gitmodules") else "", text)
    values = {"WORKLOAD": workload, "BRANCH": branch, "READ": ":".join(readable)}
    return CiFile(place, _filled(text, values), executable=ci is Ci.SHELL, remark=remark)


def _place(ci: Ci, sources: Sources) -> tuple[str, str, str]:
    """Return where the file for a CI system goes, its template, and what is left to do."""
    forgejo = ".gitea" if any(file.startswith(".gitea/") for file in sources.files) else ".forgejo"
    gitlab, jenkins = ".gitlab-ci.yml", "Jenkinsfile"
    gitlab_remark = "give a runner with the shell executor the tag faultwatch"
    if sources.has(gitlab):
        gitlab = ".gitlab/faultwatch.yml"
        gitlab_remark = f"add `include: {{local: {gitlab}}}` to .gitlab-ci.yml, and {gitlab_remark}"
    if sources.has(jenkins):
        jenkins = "Jenkinsfile.faultwatch"
    return {
        Ci.GITHUB: (
            ".github/workflows/faultwatch.yml",
            "github.yml",
            "register a self-hosted runner with the label faultwatch, and have GitHub require an approval for the "
            "workflows of all outside contributors",
        ),
        Ci.FORGEJO: (
            f"{forgejo}/workflows/faultwatch.yml",
            "forgejo.yml",
            "register a runner with the label faultwatch:host",
        ),
        Ci.GITLAB: (gitlab, "gitlab.yml", gitlab_remark),
        Ci.JENKINS: (
            jenkins,
            "jenkins.groovy",
            f"create a multibranch pipeline that reads {jenkins}, and give an agent the label faultwatch",
        ),
        Ci.SHELL: ("faultwatch-gate.sh", "shell.sh", _shell_remark(sources)),
    }[ci]


def _shell_remark(sources: Sources) -> str:
    other = other_ci(sources)
    use = f"init has no file for {other}: have it run the script" if other else "no CI was found: run the script"
    return f"{use} on a machine of your own that has Faultwatch; it compares HEAD with the branch that you merge into"


_SUBMODULES = re.compile(r"^ *# @SUBMODULES@\n(.*?)^ *# @END@\n", re.MULTILINE | re.DOTALL)
_READ = re.compile(r"^ *# Folders outside of /usr .*\n.*@READ@\n", re.MULTILINE)


def _filled(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        # These characters mean something to none of the formats and to no shell.
        if f"@{name}@" not in template:
            continue
        if not re.fullmatch(r"[A-Za-z0-9._/+~:-]+", value):
            raise FaultwatchError(
                f"{value!r} cannot be written into a CI file",
                "use letters, digits and ._/+~:- in its name, or pass --ci none",
            )
        template = template.replace(f"@{name}@", value)
    return template
