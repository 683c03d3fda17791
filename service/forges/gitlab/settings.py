"""The settings of GitLab."""

from __future__ import annotations

from runner.contract.gate import ForgeKind
from service.config.forge_settings import Token, TokenForge, WebhookSecret
from service.config.setting_fields import ADDRESS_UNIT, BaseAddress, declare_setting


class GitlabSettings(TokenForge):
    """GitLab, at which the service is a user with a token."""

    kind = ForgeKind.GITLAB
    heading, guide = "GitLab", "Reporting to GitLab and Forgejo"
    disabled_text = "FAULTWATCH_GITLAB_URL is not set."

    url: BaseAddress = declare_setting(
        "FAULTWATCH_GITLAB_URL", "GitLab address", default_text="none: the GitLab features are off", unit=ADDRESS_UNIT
    )
    """The address of GitLab."""
    token: Token = declare_setting(
        "FAULTWATCH_GITLAB_TOKEN_FILE",
        "GitLab token",
        default_text="required if `FAULTWATCH_GITLAB_URL` is set",
        repr=False,
    )
    """The file with the token of the user account that the service writes as."""
    secret: WebhookSecret = declare_setting(
        "FAULTWATCH_GITLAB_SECRET_FILE",
        "GitLab webhook secret",
        default_text="required if `FAULTWATCH_GITLAB_URL` is set",
        repr=False,
    )
    """The file with the secret that authenticates webhooks."""
