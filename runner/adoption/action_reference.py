"""Names the GitHub action for the workflows that ``init`` writes: it is in the repository that Faultwatch came from.

An installer records the origin of a package that it installs from a repository (PEP 610, ``direct_url.json``). For a
package from an index or a folder, the repository is unknown, and the user has to replace a placeholder.
"""

import json
import re
from importlib import metadata

PLACEHOLDER = "OWNER/faultwatch@v1"
"""The placeholder for the action if its repository is unknown."""
REPLACE_PLACEHOLDER = (
    "replace OWNER with the owner of the repository that contains Faultwatch, and the tag with a commit that you trust"
)
_REPOSITORY = re.compile(
    r"(?:https://|ssh://)(?:[^@/]*@)?github\.com/([A-Za-z0-9-]+/[A-Za-z0-9._-]+?)(?:\.git)?/?", re.IGNORECASE
)


def find_action() -> str:
    """Return the action of the repository from which this Faultwatch was installed, at its commit, or a placeholder."""
    try:
        return read_action(metadata.distribution("faultwatch").read_text("direct_url.json") or "")
    except metadata.PackageNotFoundError:
        return PLACEHOLDER


def read_action(direct_url: str) -> str:
    """Return the action that the text of a ``direct_url.json`` names; a placeholder if it names none on GitHub."""
    try:
        document = json.loads(direct_url)
        repository, commit = _REPOSITORY.fullmatch(document["url"]), document["vcs_info"]["commit_id"]
    except (ValueError, KeyError, TypeError):  # not JSON, or JSON about a package from elsewhere
        return PLACEHOLDER
    if repository is None or not re.fullmatch(r"[0-9a-f]{40}", str(commit)):
        return PLACEHOLDER
    return f"{repository[1]}@{commit}"
