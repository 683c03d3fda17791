"""Runs programs: deadlines, sandbox, compiled helpers, the launcher."""
