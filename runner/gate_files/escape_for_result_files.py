"""Escapes untrusted text for result files: names of cases, messages of builds, budgets.

The files are read by programs that show the text in web pages: as plain text, as Markdown, or as XML.
"""

from runner.log_commands import break_commands

_JOINER = "\N{WORD JOINER}"


def escape_result_text(text: str) -> str:
    """Return a text as one line without invisible characters, mentions, links and CI commands.

    Each control character, surrogate and direction mark is replaced by its code point, so the result contains only
    characters that XML 1.0 allows. ``[text](target)`` is escaped, because SARIF 2.1.0 (section 3.11.6) reads it as a
    link even in plain text.
    """
    line = " ".join(text.split())
    visible_text = break_commands("".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in line))
    return visible_text.replace("@", f"@{_JOINER}").replace("](", f"]{_JOINER}(").replace("<", f"<{_JOINER}")
