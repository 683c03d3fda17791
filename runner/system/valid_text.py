"""Makes text of names that are not text, because a report can contain only text."""


def make_valid_text(text: str) -> str:
    r"""Return a text with file names as text that a report can contain: ``\udce9`` for the byte E9 that is no UTF-8."""
    return text.encode(errors="backslashreplace").decode()
