"""Publishes the pages as static files, for a web server that runs no program, or to be opened from a disk."""
