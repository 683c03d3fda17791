"""Publishes the pages as static files, for a static web server or for opening from a disk."""
