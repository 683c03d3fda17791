"""What the site generates from the code, by the name of the placeholder in a page: ``<!-- generated: NAME -->``."""

from collections.abc import Callable

from docs.site.reference.commands import commands
from docs.site.reference.endpoints import endpoints, pages
from docs.site.reference.keys import matrix_keys, notification_keys, workload_keys
from docs.site.reference.variables import program_variables, runner_variables, service_variables
from service.config.identity_provider import IdentityProvider
from service.config.notifications import NotificationFile
from service.config.settings import Config
from service.config.trusted_jobs import TrustedJobs
from service.forges.registry import SETTINGS

GENERATED: dict[str, Callable[[], str]] = {
    "commands": commands,
    "endpoints": endpoints,
    "matrix_keys": matrix_keys,
    "notification_keys": notification_keys,
    "pages": pages,
    "program_variables": program_variables,
    "runner_variables": runner_variables,
    "variables_of_jobs": service_variables(TrustedJobs),
    "variables_of_notifications": service_variables(NotificationFile),
    "variables_of_people": service_variables(IdentityProvider),
    "variables_of_service": service_variables(Config),
    "workload_keys": workload_keys,
    **{f"variables_of_{forge.kind}": service_variables(forge) for forge in SETTINGS},
}
