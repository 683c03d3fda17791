"""Records in the audit log that a service starts with other settings than before."""

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
    """Record the settings with which the service starts in the audit log, if they are not those of its last start."""
    groups = list_settings(config, SETTINGS, os.environ, NotificationSettings())
    now = {setting.name: setting.value for group in groups for setting in group.settings}
    with database.reading() as session:
        last = audit.find_newest(session, AuditAction.SETTINGS_CHANGED)
    before = last.detail if last else {}
    if now == before:
        return
    changed = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    target = ", ".join(changed) if last else "first start"
    with database.writing() as session:
        audit.record_entry(
            session, audit.find_local_actor(), AuditAction.SETTINGS_CHANGED, target, now, now=datetime.now(UTC)
        )
