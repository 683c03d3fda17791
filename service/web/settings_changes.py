"""Records in the audit log that the settings differ from those of the service's last start."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from service.config.notifications import NotificationSettings
from service.config.settings import Config
from service.config.settings_list import list_settings
from service.forges.registry import SETTINGS
from service.schemas.audit import AuditAction
from service.store import audit
from service.store.engine.database import Database


def record_changes(database: Database, config: Config) -> None:
    """Add an entry with the current settings to the audit log if they differ from those of the last start."""
    groups = list_settings(config, SETTINGS, os.environ, NotificationSettings())
    values = {setting.name: setting.value for group in groups for setting in group.settings}
    with database.reading() as session:
        last_entry = audit.find_newest_entry(session, AuditAction.SETTINGS_CHANGED)
    former_values = last_entry.detail if last_entry else {}
    if values == former_values:
        return
    changed_settings = sorted(
        name for name in values.keys() | former_values.keys() if values.get(name) != former_values.get(name)
    )
    target = ", ".join(changed_settings) if last_entry else "first start"
    with database.writing() as session:
        audit.record_entry(
            session, audit.find_local_actor(), AuditAction.SETTINGS_CHANGED, target, values, now=datetime.now(UTC)
        )
