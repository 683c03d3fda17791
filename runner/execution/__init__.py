"""Starts programs and ends them: deadlines, sandbox, compiled helpers, the launcher."""
