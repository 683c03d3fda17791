"""Backup, restore, exports, retention, and deleting a subject."""
