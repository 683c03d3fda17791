"""What the site generates from the code, by the name of the placeholder in a page: ``<!-- generated: NAME -->``."""

from collections.abc import Callable

from docs.site.reference.commands import commands
from docs.site.reference.endpoints import endpoints, pages
from docs.site.reference.keys import matrix_keys, notification_keys, workload_keys
from docs.site.reference.variables import program_variables, runner_variables, service_variables
from service.config.variables import Group

GENERATED: dict[str, Callable[[], str]] = {
    "commands": commands,
    "endpoints": endpoints,
    "matrix_keys": matrix_keys,
    "notification_keys": notification_keys,
    "pages": pages,
    "program_variables": program_variables,
    "runner_variables": runner_variables,
    "variables_of_forgejo": service_variables(Group.FORGEJO),
    "variables_of_gitlab": service_variables(Group.GITLAB),
    "variables_of_app": service_variables(Group.APP),
    "variables_of_jobs": service_variables(Group.JOBS),
    "variables_of_notifications": service_variables(Group.NOTIFICATIONS),
    "variables_of_service": service_variables(Group.SERVICE),
    "workload_keys": workload_keys,
}
