"""Decides what happens to a job."""
