"""Escapes untrusted text for result files: names of cases, messages of builds, budgets.

The files are read by programs that show the text in web pages: as plain text, as Markdown, or as XML.
"""

from runner.commands_in_ci_logs import break_commands

_JOINER = "\N{WORD JOINER}"


def escape_result_text(text: str) -> str:
    """Return a text as one line in which nothing takes effect.

    A word joiner breaks mentions, Markdown links and HTML tags, and a space breaks CI commands. Characters that Python
    does not consider printable, such as control characters, surrogates and direction marks, are replaced by their code
    points, so the result contains only characters that XML 1.0 allows. Links are broken in every file, because SARIF
    2.1.0 (section 3.11.6) reads ``[text](target)`` as a link even in plain text.
    """
    line = " ".join(text.split())
    visible_text = break_commands("".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in line))
    return visible_text.replace("@", f"@{_JOINER}").replace("](", f"]{_JOINER}(").replace("<", f"<{_JOINER}")
