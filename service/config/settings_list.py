"""Lists the settings of a service: the values in use, and where each comes from, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from service.config.forge_settings import ForgeSettings
from service.config.identity_provider import IdentityProvider
from service.config.notifications import (
    CHATS,
    FILE,
    ChatChannel,
    EmailChannel,
    NotificationFile,
    NotificationSettings,
    WebhookChannel,
)
from service.config.setting_fields import SECRET, find_secret_file
from service.config.settings import Config
from service.config.settings_from_environment import Settings
from service.config.trusted_jobs import TrustedJobs

DEFAULT, ENVIRONMENT, COMMAND_LINE = "default", "environment", "given at the start"


class Setting(BaseModel):
    """One value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    variable: str
    """The environment variable of the setting; empty for a value that only a file can set."""
    value: str
    source: str
    """``default``, ``environment``, ``given at the start`` (by an option of the command), or the path of a file."""
    meaning: str


class SettingGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    document: str
    """The title of the guide that describes the settings."""
    empty: str = ""
    """Shown if there are no channels."""
    settings: list[Setting]


def list_settings(
    config: Config,
    forges: Iterable[type[ForgeSettings]],
    environment: Mapping[str, str],
    channels: NotificationSettings | str,
) -> list[SettingGroup]:
    """Return all settings in groups.

    Parameters
    ----------
    forges
        The classes of all forges, including those that are turned off.
    channels
        The notification channels, or the reason why they cannot be read.
    """
    sections: list[tuple[type[Settings], Settings | None]] = [(Config, config)]
    sections.append((IdentityProvider, config.provider))
    sections += [(forge, config.forges.get(forge.kind)) for forge in forges]
    sections.append((TrustedJobs, config.jobs))
    groups = [
        SettingGroup(
            title=section.heading,
            document=section.guide,
            empty=section.disabled_text,
            settings=_list_group_settings(settings, environment) if settings else [],
        )
        for section, settings in sections
    ]
    return [*groups, _build_notification_group(config, environment, channels)]


def _list_group_settings(settings: Settings, environment: Mapping[str, str]) -> list[Setting]:
    """Return the settings of one group with their values, sources and meanings."""
    return [
        Setting(
            name=variable.title,
            variable=variable.name,
            value=settings.format_value(name),
            source=_find_source(settings, name, variable.name, environment),
            meaning=variable.meaning.replace("`", ""),
        )
        for (name, _), variable in zip(settings.list_fields(), settings.list_variables(), strict=True)
    ]


def _find_source(settings: Settings, name: str, variable: str, environment: Mapping[str, str]) -> str:
    """Return where the value of a setting comes from: the text of :attr:`Setting.source`."""
    if environment.get(variable):
        # The variable of a secret contains the path of a file.
        names_secret_file = find_secret_file(type(settings).model_fields[name]) is not None
        return environment[variable] if names_secret_file else ENVIRONMENT
    return DEFAULT if settings.has_default(name) else COMMAND_LINE


def _build_notification_group(
    config: Config, environment: Mapping[str, str], channels: NotificationSettings | str
) -> SettingGroup:
    """Return the group of notifications: its file and its channels.

    Parameters
    ----------
    channels
        The notification channels, or the reason why they cannot be read, which is then shown in place of settings.
    """
    title, guide = NotificationFile.heading, NotificationFile.guide
    if isinstance(channels, str):
        return SettingGroup(title=title, document=guide, empty=channels, settings=[])
    (file,) = _list_group_settings(config.notifications, environment)
    path = str(config.notifications.file or config.home / FILE)
    settings = [file.model_copy(update={"value": path}), *_list_channels(path, environment, channels)]
    return SettingGroup(title=title, document=guide, settings=settings)


def _list_channels(file: str, environment: Mapping[str, str], settings: NotificationSettings) -> Iterator[Setting]:
    """Yield the channels of the notifications file as settings."""
    # Without a file, all settings have their defaults.
    source = file if settings != NotificationSettings() else DEFAULT

    def make_setting(name: str, value: str, source: str, meaning: str) -> Setting:
        return Setting(name=name, variable="", value=value, source=source, meaning=meaning)

    if settings.channel:  # Without a channel, no messages are sent, so the address is irrelevant.
        meaning = "The address that the links in messages point to."
        yield make_setting("Address in messages", settings.url, source, meaning)
    for channel in settings.channel:
        yield make_setting(channel.name, _describe_address(channel, environment), file, f"A channel: {channel.kind}.")


def _describe_address(channel: EmailChannel | ChatChannel | WebhookChannel, environment: Mapping[str, str]) -> str:
    """Return in words where a channel sends its messages. The path of a webhook is left out, because it is a secret."""
    limits = []
    if channel.subject != "*":
        limits.append(f"only {channel.subject}")
    if channel.only != "all":
        limits.append(f"only {channel.only}")
    if channel.digest is not None:
        period = "day" if channel.digest_day is None else f"week, on {channel.digest_day.capitalize()}"
        limits.append(f"one message a {period} at {channel.digest:%H:%M} {channel.zone}")
    if channel.quiet is not None:
        limits.append(f"quiet from {channel.quiet.start:%H:%M} to {channel.quiet.end:%H:%M} {channel.zone}")
    if isinstance(channel, EmailChannel):
        address = f"{', '.join(channel.to)} through {channel.host}, port {channel.port}"
        variable = channel.password_variable
    elif isinstance(channel, ChatChannel):
        variable = channel.url_variable
        chat = CHATS.get(urlsplit(channel.url).scheme) if channel.url else None  # The host may be a secret.
        address = f"through {chat.name}" if chat else "at a secret address"
    else:
        variable = channel.url_variable
        address = f"at {urlsplit(channel.url).hostname}" if channel.url else "at a secret address"
    if variable is not None:
        limits.append(f"{variable} is {SECRET if environment.get(variable) else 'not set'}")
    return "; ".join([address, *limits])
