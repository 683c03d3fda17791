"""The registry of CI systems: to add one, add its module, the template of its file, and its line here."""

from runner.ci.forgejo import FORGEJO
from runner.ci.github import GITHUB, GITHUB_HOSTED
from runner.ci.gitlab import GITLAB
from runner.ci.jenkins import JENKINS
from runner.ci.shell import SHELL

CI_SYSTEMS = {system.name: system for system in (GITHUB_HOSTED, GITHUB, GITLAB, FORGEJO, JENKINS, SHELL)}
"""By name. A repository that has files of several systems uses the first."""
NO_CI = "none"
"""Names no system in ``faultwatch init --ci``."""
