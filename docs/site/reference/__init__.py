"""What the site generates from the code, by the name of the placeholder in a page: ``<!-- generated: NAME -->``."""

from collections.abc import Callable

from docs.site.reference.commands import commands
from docs.site.reference.endpoints import endpoints, pages
from docs.site.reference.keys import matrix_keys, notification_keys, workload_keys

GENERATED: dict[str, Callable[[], str]] = {
    "commands": commands,
    "endpoints": endpoints,
    "matrix_keys": matrix_keys,
    "notification_keys": notification_keys,
    "pages": pages,
    "workload_keys": workload_keys,
}
