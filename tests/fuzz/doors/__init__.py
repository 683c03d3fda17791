"""The doors: one module each, with ``SHARE`` and ``opened``."""
