"""Schedules jobs, and starts them on this machine."""
