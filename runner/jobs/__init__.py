"""Runs the jobs that the service orders: one module for each kind of job, each with ``run(job) -> JobResult``."""
