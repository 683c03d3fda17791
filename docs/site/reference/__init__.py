"""What the site generates from the code, by the name of the placeholder in a page: ``<!-- generated: NAME -->``."""

from collections.abc import Callable

from docs.site.reference.commands import build_command_sections
from docs.site.reference.endpoints import build_endpoint_sections, build_page_table
from docs.site.reference.keys import build_matrix_tables, build_notification_tables, build_workload_tables
from docs.site.reference.variables import build_program_table, build_runner_table, make_service_table_builder
from service.config.identity_provider import IdentityProvider
from service.config.notifications import NotificationFile
from service.config.settings import Config
from service.config.trusted_jobs import TrustedJobs
from service.forges.registry import SETTINGS

GENERATED: dict[str, Callable[[], str]] = {
    "commands": build_command_sections,
    "endpoints": build_endpoint_sections,
    "matrix_keys": build_matrix_tables,
    "notification_keys": build_notification_tables,
    "pages": build_page_table,
    "program_variables": build_program_table,
    "runner_variables": build_runner_table,
    "variables_of_jobs": make_service_table_builder(TrustedJobs),
    "variables_of_notifications": make_service_table_builder(NotificationFile),
    "variables_of_people": make_service_table_builder(IdentityProvider),
    "variables_of_service": make_service_table_builder(Config),
    "workload_keys": build_workload_tables,
    **{f"variables_of_{forge.kind}": make_service_table_builder(forge) for forge in SETTINGS},
}
