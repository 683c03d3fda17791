"""The settings of Forgejo, or Gitea."""

from __future__ import annotations

from runner.contract.gate import ForgeKind
from service.config.forge_settings import Token, TokenForge, WebhookSecret
from service.config.setting_fields import ADDRESS_UNIT, BaseAddress, declare_setting


class ForgejoSettings(TokenForge):
    """Forgejo or Gitea, at which the service is a user with a token."""

    kind = ForgeKind.FORGEJO
    heading, guide = "Forgejo", "Reporting to GitLab and Forgejo"
    disabled_text = "FAULTWATCH_FORGEJO_URL is not set."

    url: BaseAddress = declare_setting(
        "FAULTWATCH_FORGEJO_URL",
        "Forgejo address",
        default_text="none: the Forgejo features are off",
        unit=ADDRESS_UNIT,
    )
    """The address of Forgejo or Gitea."""
    token: Token = declare_setting(
        "FAULTWATCH_FORGEJO_TOKEN_FILE",
        "Forgejo token",
        default_text="required if `FAULTWATCH_FORGEJO_URL` is set",
        repr=False,
    )
    """The file with the token of the user account that the service writes as."""
    secret: WebhookSecret = declare_setting(
        "FAULTWATCH_FORGEJO_SECRET_FILE",
        "Forgejo webhook secret",
        default_text="required if `FAULTWATCH_FORGEJO_URL` is set",
        repr=False,
    )
    """The file with the secret that authenticates webhooks."""
