"""Backup, restore, export and retention."""
