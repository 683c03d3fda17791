"""Observes running processes: chooses them, reads their figures every second, and records them at a low cost."""
