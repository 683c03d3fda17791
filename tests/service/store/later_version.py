"""A later version: the migrations of this one, and one more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from service.store.engine import upgrade

SCHEMA = "9999"
_MIGRATION = '''"""Change the schema, as a later version does: a test adds this."""

import sqlalchemy as sa
from alembic import op

revision = "{schema}"
down_revision = "{before}"
{names}

def upgrade() -> None:
    op.execute("{change}")
'''


def become(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str, names: str = "") -> None:
    """Be the later version until the test ends.

    Parameters
    ----------
    folder
        Where its migrations are written.
    change
        What its migration executes, in SQL.
    names
        What else its migration defines.
    """
    before = upgrade.find_newest_schema()
    shutil.copytree(upgrade.MIGRATIONS, folder / "migrations")
    migration = folder / "migrations" / "versions" / f"{SCHEMA}_change.py"
    migration.write_text(_MIGRATION.format(schema=SCHEMA, before=before, names=names, change=change))
    monkeypatch.setattr(upgrade, "MIGRATIONS", folder / "migrations")
