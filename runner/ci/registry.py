"""The registry of CI systems. To add a system, add its module, the template of its file, and its entry here."""

from runner.ci.forgejo import FORGEJO
from runner.ci.github import GITHUB, GITHUB_HOSTED
from runner.ci.gitlab import GITLAB
from runner.ci.jenkins import JENKINS
from runner.ci.shell import SHELL

CI_SYSTEMS = {system.name: system for system in (GITHUB_HOSTED, GITHUB, GITLAB, FORGEJO, JENKINS, SHELL)}
"""The systems by name. For a repository with files of several systems, the first one is used."""
NO_CI = "none"
"""The value of ``faultwatch init --ci`` that selects no system."""
