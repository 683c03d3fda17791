"""Which commits change documents only."""

import re
from collections.abc import Iterable

_DOCUMENT = re.compile(
    r"(^|/)(docs?|manual|man|\.github|\.circleci)/|\.(md|rst|adoc|txt|of|html|[1-8])$"
    r"|(^|/)(readme|license|licence|copying|changelog|changes|news|authors|contributors|todo)[^/.]*$"
    r"|(^|/)\.(travis\.yml|gitignore|gitattributes|mailmap|cirrus\.yml|pre-commit-config\.yaml)$",
    re.IGNORECASE,
)
_OTHER = re.compile(r"(^|/)(tests?|testes|testdata)/|(^|/)(CMakeLists|requirements[^/]*)\.txt$", re.IGNORECASE)


def only_documents(paths: Iterable[str]) -> bool:
    """Return whether a commit that changes these files changes no file that a build or a test reads."""
    names = list(paths)
    return bool(names) and all(_DOCUMENT.search(name) and not _OTHER.search(name) for name in names)
