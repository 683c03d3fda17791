"""Code that the forms of the pages share: the author, and error messages about the input."""

from __future__ import annotations

from http import HTTPStatus

from flask import abort, request, session
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from runner.contract.job import JobOrder, Question
from runner.contract.number_text import capitalize_first_letter
from service.web.access import authorization

_AUTHOR_KEY = "author"
_MAX_AUTHOR_CHARACTERS = 100
"""Characters of the author's name that the cookie keeps."""
_LABELS = {
    "author": "Your name",
    "good": "The last good commit",
    "bad": "The first bad commit",
    "min_difference": "The smallest change",
    "action": "A decision",
    "until": "The end",
}
"""Labels of fields that have other names in the form than in the model."""
_ERROR_PHRASES = {
    "missing": "is missing",
    "string_too_short": "is missing",
    "string_too_long": "is too long: at most {max_length} characters are allowed",
    "string_pattern_mismatch": "contains characters that are not allowed",
    "enum": "must be one of: {expected}",
    "literal_error": "must be one of: {expected}",
    "float_parsing": "must be a number",
    "int_parsing": "must be a whole number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less",
}
"""Messages by the type of pydantic's error."""


def find_likely_author() -> str:
    """Return the likely author: the name of the token, or the author that this browser sent last."""
    return authorization.find_caller().name if authorization.requires_tokens() else str(session.get(_AUTHOR_KEY, ""))


def read_form() -> dict[str, str]:
    """Return the filled-in fields of the request's form, with its author.

    If callers need tokens, the author is the name of the token. Otherwise, the author in the form is stored in the
    browser's cookie.
    """
    form = {name: value.strip() for name, value in request.form.items() if value.strip()}
    form[_AUTHOR_KEY] = (
        authorization.find_caller().name if authorization.requires_tokens() else form.get(_AUTHOR_KEY, "")
    )
    if form[_AUTHOR_KEY] and not authorization.requires_tokens():
        session[_AUTHOR_KEY] = form[_AUTHOR_KEY][:_MAX_AUTHOR_CHARACTERS]
    return form


def build_order(question: Question, author: str) -> JobOrder:
    """Return the order of a job by the author of a form; answer 422 if the name of the author is not valid."""
    try:
        return JobOrder(question=question, author=author or None)
    except ValidationError as error:
        abort(HTTPStatus.UNPROCESSABLE_ENTITY, describe_errors(error))


def describe_errors(error: ValidationError) -> str:
    """Describe the errors of a form in sentences."""
    return " ".join(dict.fromkeys(describe_errors_by_field(error).values()))


def describe_errors_by_field(error: ValidationError) -> dict[str, str]:
    """Return a sentence for each invalid field of a form; an error that concerns no single field is under ``""``."""
    return {_find_field(entry): _format_error(entry) for entry in error.errors()}


def _find_field(entry: ErrorDetails) -> str:
    """Return the field of a form that an error is about: the last name in its path; empty if it has none."""
    return next((str(part) for part in reversed(entry["loc"]) if isinstance(part, str)), "")


def _format_error(entry: ErrorDetails) -> str:
    """Return the validation error of one field as a sentence for the user: without type names or patterns."""
    name = _find_field(entry)
    label = _LABELS.get(name, name.replace("_", " ").capitalize())
    limits, kind = entry.get("ctx", {}), entry["type"]
    text = entry["msg"].removeprefix("Value error, ")
    if name == "commit" and kind == "string_pattern_mismatch":
        return "The commit must be a hash, written in hexadecimal digits."
    if kind in _ERROR_PHRASES:
        return f"{label} {_ERROR_PHRASES[kind].format_map(limits)}."
    return f"{label}: {text.rstrip('.')}." if name else f"{capitalize_first_letter(text.rstrip('.'))}."
