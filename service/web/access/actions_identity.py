"""Sign-in of GitHub Actions jobs: an identity that GitHub signed, accepted once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import jwt
from jwt import PyJWKClient, PyJWKClientConnectionError

from service.config.trusted_jobs import IdentityRefused, IssuerUnavailable, TrustedJobs

LEEWAY_SECONDS = 30
"""The largest accepted difference between the clocks of the issuer and of this machine."""
_TIMEOUT_SECONDS = 5
_COOLDOWN_SECONDS = 30
"""Seconds for which the fetched keys are kept even if an identity names another one: anybody can send such identities,
and each would cause a request to the issuer."""
_MAX_JTI_CHARACTERS = 200
"""Length of the column that stores the id of an identity."""
_MAX_CACHED_KEYS = 64
"""Far more than the number of keys that an issuer uses at a time."""
_REQUIRED_CLAIMS = ["exp", "iat", "iss", "aud", "sub", "jti", "repository", "repository_owner"]


@dataclass(frozen=True, slots=True)
class ActionsJob:
    """A job of GitHub Actions."""

    repository: str
    run_id: str
    jti: str
    expires_at: datetime


class IdentityVerifier:
    """Checks identities with the issuer's keys, which it caches."""

    def __init__(self, trusted_jobs: TrustedJobs, cooldown: int = _COOLDOWN_SECONDS) -> None:
        self._trusted_jobs = trusted_jobs
        self._keys = PyJWKClient(
            f"{trusted_jobs.issuer}/.well-known/jwks",
            timeout=_TIMEOUT_SECONDS,
            cooldown_duration=cooldown,
            max_cached_keys=_MAX_CACHED_KEYS,
        )

    def verify(self, token: str) -> ActionsJob:
        """Return the CI job to which an identity token belongs.

        Raises
        ------
        IdentityRefused
            If the token is not an identity, names another audience or issuer, is too old, or belongs to a job that may
            not sign in.
        IssuerUnavailable
            If the keys of the issuer cannot be fetched at the moment.
        """
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                # The token does not choose the algorithm: with HS256, its sender could sign with the public key.
                algorithms=["RS256"],
                audience=self._trusted_jobs.audience,
                issuer=self._trusted_jobs.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": _REQUIRED_CLAIMS, "strict_aud": True},
            )
        except PyJWKClientConnectionError as error:
            raise IssuerUnavailable("the keys of the issuer cannot be fetched") from error
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise IdentityRefused(str(error)) from error
        objection = self._trusted_jobs.explain_objection(claims)
        jti = str(claims["jti"])
        if objection or not 0 < len(jti) <= _MAX_JTI_CHARACTERS:
            raise IdentityRefused(objection or "its claim `jti` is empty or too long")
        return ActionsJob(
            repository=str(claims["repository"]).lower(),
            run_id=str(claims.get("run_id", "")),
            jti=jti,
            # The identity is accepted until then, so its jti has to be remembered as long.
            expires_at=datetime.fromtimestamp(int(claims["exp"]) + LEEWAY_SECONDS, UTC),
        )
