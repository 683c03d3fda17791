"""The settings of the GitHub App."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from runner.contract.gate import ForgeKind
from service.config.forge_settings import ForgeSettings, WebhookSecret
from service.config.setting_fields import ADDRESS_UNIT, BaseAddress, SecretFile, declare_setting


class GithubSettings(ForgeSettings):
    """The GitHub App whose identity the service uses."""

    kind, switch = ForgeKind.GITHUB, "app_id"
    heading, guide = "GitHub App", "Reporting to GitHub"
    disabled_text = "The service is not a GitHub App: FAULTWATCH_GITHUB_APP is not set."

    app_id: Annotated[int, Field(ge=0)] = declare_setting(
        "FAULTWATCH_GITHUB_APP", "App", default_text="none: the GitHub features are off", unit="a number"
    )
    """The numeric id of the App."""
    key: Annotated[str, SecretFile()] = declare_setting(
        "FAULTWATCH_GITHUB_KEY_FILE",
        "Private key",
        default_text="required if `FAULTWATCH_GITHUB_APP` is set",
        repr=False,
    )
    """The file with the App's private key."""
    secret: WebhookSecret = declare_setting(
        "FAULTWATCH_GITHUB_SECRET_FILE",
        "Webhook secret",
        default_text="required if `FAULTWATCH_GITHUB_APP` is set",
        repr=False,
    )
    """The file with the secret that GitHub uses to sign webhooks."""
    api: BaseAddress = declare_setting("FAULTWATCH_GITHUB_API", "API", "https://api.github.com", unit=ADDRESS_UNIT)
    """The address of GitHub's API."""
    workflow: str = declare_setting("FAULTWATCH_GITHUB_WORKFLOW", "Workflow", "faultwatch.yml")
    """The repository's workflow that measures a pull request."""
