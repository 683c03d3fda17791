"""Builds without a network: tells tools that they are offline, recognises network errors, and suggests remedies."""

import re
from collections.abc import Mapping

from runner.contract.word_list import join_words

OFFLINE_VARIABLES: Mapping[str, str] = {
    "CARGO_NET_OFFLINE": "true",
    "GOPROXY": "off",
    "PIP_NO_INDEX": "1",
    "npm_config_offline": "true",
}
"""Variables that tell package managers that there is no network: they use what they have, or fail without retries."""
_FETCH_FAILURE = re.compile(r"\bBuild step for ([\w.+-]{1,60}) failed\b")
"""What CMake's FetchContent prints about a project that it could not download."""
_MAX_LINE_CHARACTERS = 200
_NETWORK_ERROR = re.compile(
    r"could not resolve host|couldn't resolve host|temporary failure in name resolution|name or service not known|"
    r"network is unreachable|failed to connect to|failed to lookup address|could not resolve hostname|no such host\b|"
    r"dial (?:tcp|udp)\b|disabled by GOPROXY=off|could not fetch url|TLS CA certificate bundle|newconnectionerror|"
    r"no matching distribution found|--offline was specified|offline was set|spurious network error|"
    r"unable to access 'https?://|cache mode is 'only-if-cached'|could not transfer artifact|"
    r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|download failed|error: downloading",
    re.IGNORECASE,
)


def find_network_error(log: str) -> str:
    """Return the line of a build's log that reports a network error; empty if there is none."""
    return next((line.strip()[:_MAX_LINE_CHARACTERS] for line in log.splitlines() if _NETWORK_ERROR.search(line)), "")


def describe_offline_remedy(log: str) -> str:
    """Return how CMake's FetchContent can work offline, as a clause; empty if the build did not use it."""
    names = list(dict.fromkeys(_FETCH_FAILURE.findall(log)))
    if not names:
        return ""
    options = " ".join(f"-DFETCHCONTENT_SOURCE_DIR_{name.upper()}=FOLDER" for name in names)
    advice = (
        f"keep the sources of {names[0]} in a folder"
        if len(names) == 1
        else "keep the sources of each in its own folder"
    )
    return (
        f"CMake's FetchContent downloads {join_words(names)}: {advice}, and add {options} to the `cmake` call that "
        "configures the build"
    )
