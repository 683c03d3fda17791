"""The registry of CI systems: to add one, add its module, the template of its file, and its line here."""

from runner.ci.forgejo import FORGEJO
from runner.ci.github import GITHUB, GITHUB_HOSTED
from runner.ci.gitlab import GITLAB
from runner.ci.jenkins import JENKINS
from runner.ci.shell import SHELL

CI_SYSTEMS = {system.name: system for system in (GITHUB_HOSTED, GITHUB, GITLAB, FORGEJO, JENKINS, SHELL)}
"""The systems by name. A repository that has files of several systems uses the first."""
NO_CI = "none"
"""The value of ``faultwatch init --ci`` for no system."""
