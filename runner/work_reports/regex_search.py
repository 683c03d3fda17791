"""Searches a text with an untrusted regular expression, in a process of its own: some searches would never end."""

import json
import subprocess

from runner.execution.own_command import SAFE_DIRECTORY, build_script_command
from runner.execution.process_variables import BASE_VARIABLES

_TIMEOUT_SECONDS = 10.0
_SCRIPT = """
import json, re, sys
pattern, text = json.load(sys.stdin)
match = re.search(pattern, text, re.MULTILINE)
json.dump(match and match.groupdict(), sys.stdout)
"""


def find_named_groups(pattern: str, text: str) -> dict[str, str | None]:
    """Return the named groups of the first match of a pattern.

    Raises
    ------
    ValueError
        Nothing matches, the pattern is invalid, or the search takes too long.
    """
    try:
        result = subprocess.run(
            build_script_command(_SCRIPT),
            input=json.dumps([pattern, text]),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
            cwd=SAFE_DIRECTORY,
            env=dict(BASE_VARIABLES),
        )
    except subprocess.TimeoutExpired:
        raise ValueError("the search for the pattern takes too long") from None
    groups = json.loads(result.stdout) if result.returncode == 0 else None
    if groups is None:
        raise ValueError(pattern)
    return dict(groups)
