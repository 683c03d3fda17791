"""How CI systems find commands in a log, as their agents do it."""

import re
import unicodedata

_ANYWHERE = (
    *("##[", "##vso[", "##teamcity[", "##octopus[", "[[ATTACHMENT|", "[[PROPERTY|"),
    *("<DartMeasurement", "<CTestMeasurement", "section_start:", "section_end:", "travis_fold:", "travis_time:"),
    *("SPINNAKER_CONFIG_JSON=", "SPINNAKER_PROPERTY_x=", "RUNDECK:DATA:", "PERFHERDER_DATA:", "TinderboxPrint:"),
)
_FIRST = ("::", "--- ", "+++ ", "~~~ ", "^^^ ")


def commands_in(log: str) -> list[str]:
    """Return the lines of a log that some system would obey.

    A carriage return ends a line, spaces before a command do not count, and neither do characters without a weight:
    .NET compares as a language does.
    """
    found = []
    for line in re.split(r"[\r\n]", log):
        seen = "".join(letter for letter in line if not _is_ignored(letter)).strip()
        if seen.startswith(_FIRST) or any(word in seen for word in _ANYWHERE):
            found.append(line)
    return found


def _is_ignored(letter: str) -> bool:
    return unicodedata.category(letter) in {"Cf", "Cc"} or 0xFE00 <= ord(letter) <= 0xFE0F or letter == "\u034f"
