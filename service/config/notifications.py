"""Where events are told: one channel each way, from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit
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
from service.errors import ServiceError

VARIABLE = "FAULTWATCH_NOTIFICATIONS"
FILE = "notifications.toml"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
Address = Annotated[
    str, StringConstraints(max_length=254, pattern=r"^[^\s@<>,;:\"()\[\]\x00-\x1f\x7f]+@[A-Za-z0-9.-]+$")
]


def _is_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name}: use a name such as Europe/Berlin") from error
    return name


def _read_time(value: object) -> object:
    return time.fromisoformat(value) if isinstance(value, str) else value


Zone = Annotated[str, AfterValidator(_is_zone)]
OfDay = Annotated[time, BeforeValidator(_read_time)]


class StrictSettings(BaseModel):
    """Base of all settings: an unknown one is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Quiet(StrictSettings):
    """Hours of the day in which nothing is sent; what there is then waits for their end."""

    start: OfDay = Field(alias="from")
    end: OfDay = Field(alias="to")

    @model_validator(mode="after")
    def _lasts(self) -> Quiet:
        if self.start == self.end:
            raise ValueError("from and to are the same time: leave quiet out, or the channel")
        return self


class ChannelSettings(StrictSettings):
    """What all channels have."""

    name: Name
    subject: Line = "*"
    """Which subjects are told here; * stands for anything."""
    only: Literal["all", "regressions"] = "all"
    zone: Zone = "UTC"
    """Time zone of the hours."""
    quiet: Quiet | None = None
    digest: OfDay | None = None
    """Time of the day at which all is told in one message, instead of each event as it is found."""


class EmailChannel(ChannelSettings):
    """Mail, through one server."""

    kind: Literal["email"]
    sender: Address
    to: tuple[Address, ...] = Field(min_length=1, max_length=100)
    host: Line
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: Line | None = None
    password_variable: Line | None = None
    """Environment variable that holds the password: it is not kept in the file."""

    @model_validator(mode="after")
    def _keeps_the_password(self) -> EmailChannel:
        if (self.user is None) != (self.password_variable is None):
            raise ValueError("user and password_variable belong together")
        if self.user is not None and self.security == "none" and self.host not in LOOPBACK:
            raise ValueError("security is none: the password would go over the network for all to read")
        return self


class WebhookChannel(ChannelSettings):
    """A chat that takes Slack's incoming webhooks."""

    kind: Literal["webhook"]
    url: Line | None = None
    url_variable: Line | None = None
    """Environment variable that holds the address, for that is a secret."""
    insecure: bool = False
    """Whether http is allowed beyond loopback."""

    @model_validator(mode="after")
    def _has_an_address(self) -> WebhookChannel:
        if (self.url is None) == (self.url_variable is None):
            raise ValueError("either url or url_variable is needed")
        if self.url is not None:
            self.check(self.url)
        return self

    def check(self, url: str) -> str:
        """Return an address that may be called.

        Raises
        ------
        ValueError
            Where it is no address, or one at which everybody on the way could read along.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("url is not an address of the form https://…")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not self.insecure:
            raise ValueError("url is http: use https, or set insecure = true if the network is trusted")
        return url


class NotificationSettings(StrictSettings):
    """All channels."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=500)] = "http://localhost:8080"
    """Address at which people reach the service, for links."""
    channel: tuple[Annotated[EmailChannel | WebhookChannel, Field(discriminator="kind")], ...] = ()

    @model_validator(mode="after")
    def _has_names_once(self) -> NotificationSettings:
        names = [channel.name for channel in self.channel]
        if len(set(names)) < len(names):
            raise ValueError("two channels have the same name")
        return self


def load(home: Path, environment: Mapping[str, str]) -> NotificationSettings:
    """Read the settings; without a file there are no channels.

    Raises
    ------
    ServiceError
        Where the file cannot be read, or says something that cannot be.
    """
    named = environment.get(VARIABLE)
    path = Path(named).expanduser() if named else home / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if named:
            raise ServiceError(
                "There is no such file", f"{VARIABLE}={path}", "Write it, or unset the variable."
            ) from None
        return NotificationSettings()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(
            "The file cannot be read", f"{path} ({error})", "Make it readable, as UTF-8 text."
        ) from error
    try:
        return NotificationSettings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ServiceError("The file is not TOML", f"{path}: {error}", "See docs/notifications.md.") from error
    except ValidationError as error:
        raise ServiceError("A setting cannot be", f"{path}: {_first(error)}", "See docs/notifications.md.") from error


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in found["loc"] if part not in {"email", "webhook"})
    return f"{place}: {found['msg']}" if place else found["msg"]
