"""The commands that the documents tell a user to type, as they stand there."""

import re
from pathlib import Path

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
INSTALL = "pipx install 'faultwatch[service]'"
_COMMENT = re.compile(r"\s+# (.*)$")


def commands(document: str, heading: str, distribution: str = "") -> list[str]:
    """Return the commands of the first code block below a heading; of lines for one distribution, only its own."""
    text = (HOW_TO / document).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    block = re.search(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block, f"{document} has no commands below {heading}"
    found = []
    for line in block[1].splitlines():
        comment = _COMMENT.search(line)
        if not comment or comment[1] not in {"Debian", "Ubuntu"} - {distribution}:
            found.append(_COMMENT.sub("", line))
    return found
