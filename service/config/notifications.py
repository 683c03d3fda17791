"""Reads the notification channels from a TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import SplitResult, parse_qsl, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from runner.contract.base import Name
from runner.contract.docstrings import collect_field_docstrings
from service.config.loopback import LOOPBACK
from service.config.setting_fields import declare_setting, expand_user
from service.config.settings_from_environment import Settings
from service.errors import ServiceError

VARIABLE = "FAULTWATCH_NOTIFICATIONS"
FILE = "notifications.toml"

Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
Address = Annotated[
    str, StringConstraints(max_length=254, pattern=r"^[^\s@<>,;:\"()\[\]\x00-\x1f\x7f]+@[A-Za-z0-9.-]+$")
]


def _require_zone(name: str) -> str:
    """Check that a time zone exists."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name}: use a name such as Europe/Berlin") from error
    return name


def _read_time(value: object) -> time:
    """Return a time of day; raise for a number, which would count as seconds, and for a time with a zone of its own."""
    moment = time.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, time):
        raise ValueError('write a time of day, such as "08:30"')
    if moment.tzinfo is not None:
        raise ValueError('write a time of day without a zone, such as "08:30", and set `zone` to its time zone')
    return moment


Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DAYS: tuple[Day, ...] = get_args(Day)
Zone = Annotated[str, AfterValidator(_require_zone)]
TimeOfDay = Annotated[time, BeforeValidator(_read_time)]


def _add_meanings(schema: dict[str, Any], cls: type[BaseModel]) -> None:
    """Add the docstrings of a model's fields to its JSON Schema."""
    meanings = collect_field_docstrings(cls)
    for name, field in cls.model_fields.items():
        if name in meanings:
            schema["properties"][field.alias or name].setdefault("description", meanings[name])


class StrictSettings(BaseModel):
    """Base of the notification settings: an unknown key is an error."""

    # Pydantic could collect the docstrings itself, but at each import, and few processes need the JSON Schema.
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, json_schema_extra=_add_meanings)


class QuietHours(StrictSettings):
    """Hours of the day in which nothing is sent. Pending events wait for the end of these hours."""

    start: TimeOfDay = Field(alias="from")
    """The time of day from which nothing is sent."""
    end: TimeOfDay = Field(alias="to")
    """The time of day from which messages are sent again."""

    @model_validator(mode="after")
    def _require_length(self) -> QuietHours:
        """Check that quiet hours begin and end at different times."""
        if self.start == self.end:
            raise ValueError(
                "`from` and `to` are the same time: remove `quiet`, or remove the channel if it must never send"
            )
        return self


class ChannelSettings(StrictSettings):
    """The settings that all channels share."""

    name: Name
    """Name of the channel, in logs and messages."""
    subject: Line = "*"
    """Pattern of the subjects whose events are sent; * stands for any text."""
    only: Literal["all", "regressions"] = "all"
    """Which events are sent."""
    zone: Zone = "UTC"
    """Time zone of the quiet hours and of the digest."""
    quiet: QuietHours | None = None
    """Hours of the day in which nothing is sent."""
    digest: TimeOfDay | None = None
    """Time of day of a single message with all events; None sends each event when it is found."""
    digest_day: Day | None = None
    """The day of the week of a single weekly message, at the time of ``digest``; None sends a daily message."""

    @model_validator(mode="after")
    def _require_digest_time(self) -> Self:
        """Check that a weekly digest has a time of day."""
        if self.digest_day is not None and self.digest is None:
            raise ValueError('`digest_day` needs a time of day: add `digest`, such as `digest = "08:30"`')
        return self


class EmailChannel(ChannelSettings):
    """Mail through an SMTP server."""

    kind: Literal["email"]
    """A channel that sends mail."""
    sender: Address
    """The sender's address."""
    to: tuple[Address, ...] = Field(min_length=1, max_length=100)
    """The addresses of the receivers."""
    host: Line
    """Name of the mail server."""
    port: int = Field(default=587, ge=1, le=65535)
    """TCP port of the mail server."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted."""
    user: Line | None = None
    """The user name for the mail server; without a name, nobody signs in."""
    password_variable: Line | None = None
    """Environment variable that holds the password, which is never stored in the file."""

    @model_validator(mode="after")
    def _check_sign_in(self) -> EmailChannel:
        """Check that user and password are set together, and that the password is not sent unencrypted."""
        if (self.user is None) != (self.password_variable is None):
            raise ValueError("`user` and `password_variable` must be set together")
        if self.user is not None and self.security == "none" and self.host not in LOOPBACK:
            raise ValueError("the password would be sent unencrypted: set `security` to `tls` or `starttls`")
        return self


def _split_address(url: str) -> SplitResult:
    """Return the parts of an address; the error does not quote it, because it may be a secret."""
    try:
        return urlsplit(url)
    except ValueError:
        # Do not pass on the reason: it quotes the address, which is a secret.
        raise ValueError(
            "`url` is not a valid address: it contains brackets or characters that a host name cannot have"
        ) from None


class AddressedChannel(ChannelSettings):
    """A channel whose address is a secret."""

    url: Line | None = None
    """Address of the receiver."""
    url_variable: Line | None = None
    """Environment variable that holds the address, which is a secret."""
    insecure: bool = False
    """Whether http, or a certificate that is not checked, is allowed outside loopback."""

    @model_validator(mode="after")
    def _check_address(self) -> Self:
        """Check that the channel has one address, in the file or in a variable."""
        if (self.url is None) == (self.url_variable is None):
            raise ValueError("set either `url` or `url_variable`")
        if self.url is not None:
            self.check_url(self.url)
        return self

    @property
    def variable_or_key(self) -> str:
        """What messages call the address, which is secret itself: its environment variable, or the key ``url``."""
        return self.url_variable or "url"

    def check_url(self, url: str) -> str:
        """Return the address, after checking that the settings allow the service to call it.

        Raises
        ------
        ValueError
            If the settings do not allow it.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat service.

    Attributes
    ----------
    name
        The name of the service for human readers.
    format
        The markup of its messages.
    encrypted
        Whether the connection uses https.
    link
        The template of a link in the markup.
    """

    name: str
    format: Literal["markdown", "html", "text"]
    encrypted: bool = True
    link: str = "{}"


CHATS = {
    "discord": Chat("Discord", "markdown", link="<{}>"),
    "gotify": Chat("Gotify", "text", encrypted=False),
    "gotifys": Chat("Gotify", "text"),
    "matrix": Chat("Matrix", "markdown", encrypted=False, link="<{}>"),
    "matrixs": Chat("Matrix", "markdown", link="<{}>"),
    "mmost": Chat("Mattermost", "markdown", encrypted=False, link="<{}>"),
    "mmosts": Chat("Mattermost", "markdown", link="<{}>"),
    "ntfy": Chat("ntfy", "text", encrypted=False),
    "ntfys": Chat("ntfy", "text"),
    "pover": Chat("Pushover", "text"),
    "rocket": Chat("Rocket.Chat", "markdown", encrypted=False, link="<{}>"),
    "rockets": Chat("Rocket.Chat", "markdown", link="<{}>"),
    "slack": Chat("Slack", "text"),
    "tgram": Chat("Telegram", "html"),
    "workflow": Chat("Microsoft Teams", "markdown", link="[{0}]({0})"),
    "workflows": Chat("Microsoft Teams", "markdown", link="[{0}]({0})"),
}
"""The chat services for which messages can be escaped, by the scheme of their addresses."""


class ChatChannel(AddressedChannel):
    """A chat service, by its Apprise address; or by the https address of a webhook of Discord, Slack or Teams."""

    kind: Literal["chat"]
    """A channel that sends to a chat service."""

    def check_url(self, url: str) -> str:
        """Return the address, after checking that the service may call it.

        Raises
        ------
        ValueError
            If it belongs to no supported service, or if it is outside of loopback and unencrypted or unverified,
            without ``insecure``.
        """
        parts = _split_address(url)
        scheme, query = parts.scheme.lower(), {name.lower(): value for name, value in parse_qsl(parts.query)}
        if scheme not in CHATS and scheme != "https":
            services = ", ".join(sorted({chat.name for chat in CHATS.values()}))
            raise ValueError(f"`url` does not belong to a supported service ({services})")
        if self.insecure or parts.hostname in LOOPBACK:
            return url
        if scheme in CHATS and not CHATS[scheme].encrypted:
            raise ValueError(
                f"`url` is unencrypted: use {scheme}s://…, or set `insecure = true` if the network is trusted"
            )
        if query.get("verify", "yes").lower() not in {"yes", "true", "1", "on"}:
            raise ValueError("`url` turns off certificate checks: remove `verify`, or set `insecure = true`")
        return url


class WebhookChannel(AddressedChannel):
    """A receiver of JSON in the form of Slack's incoming webhooks: ``{"text": "…"}``."""

    kind: Literal["webhook"]
    """A channel that posts JSON."""

    def check_url(self, url: str) -> str:
        """Return the address if it may be called.

        Raises
        ------
        ValueError
            If it is not an address, or an unencrypted one outside loopback that is not declared insecure.
        """
        parts = _split_address(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("`url` is not a valid address: it must look like https://…")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not self.insecure:
            raise ValueError("`url` is unencrypted: use https://…, or set `insecure = true` if the network is trusted")
        return url


class NotificationSettings(StrictSettings):
    """All channels, and the address for links."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=500)] = "http://localhost:8080"
    """Address at which people reach the service, for links."""
    channel: tuple[Annotated[EmailChannel | ChatChannel | WebhookChannel, Field(discriminator="kind")], ...] = ()
    """The channels, each with its own settings."""

    @model_validator(mode="after")
    def _check_unique_names(self) -> NotificationSettings:
        """Check that no two channels have the same name."""
        names: set[str] = set()
        for channel in self.channel:
            if channel.name in names:
                raise ValueError(f"two channels have the same name, {channel.name}: give each a name of its own")
            names.add(channel.name)
        return self


class NotificationFile(Settings):
    """Where the channels are set."""

    heading, guide = "Notifications", "Notifications"

    file: Path | None = declare_setting(
        VARIABLE, "Notifications file", None, default_text="`notifications.toml` in `FAULTWATCH_HOME`"
    )
    """The file with the notification channels."""


def load_notification_settings(home: Path, file_setting: Path | None = None) -> NotificationSettings:
    """Read the given file, or else the file in the data folder; if there is no file, return settings without channels.

    Raises
    ------
    ServiceError
        If the file cannot be read or a setting is invalid.
    """
    path = file_setting or home / FILE
    try:
        text = expand_user(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        if file_setting:
            raise ServiceError(
                "The file does not exist", f"{VARIABLE}={path}", "Create it, or unset the variable."
            ) from None
        return NotificationSettings()
    except (OSError, ValueError) as error:
        raise ServiceError(
            "The file cannot be read", f"{path} ({error})", "Make it readable by this user, and save it as UTF-8 text."
        ) from error
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError includes a number with thousands of digits.
        raise ServiceError("The file is not TOML", f"{path}: {error}", "See the guide “Notifications”.") from error
    try:
        return NotificationSettings.model_validate(content)
    except ValidationError as error:
        raise ServiceError(
            "A setting is invalid", f"{path}: {_describe_first_problem(error)}", "See the guide “Notifications”."
        ) from error


def _describe_first_problem(error: ValidationError) -> str:
    """Return the first problem in the file as one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    # Pydantic adds the kind of a channel to the location of its fields; it is not a key of the file.
    location = ".".join(str(part) for part in problem["loc"] if part not in {"email", "chat", "webhook"})
    return f"{location}: {problem['msg']}" if location else problem["msg"]
