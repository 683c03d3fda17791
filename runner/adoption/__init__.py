"""Adopts a repository: proposes a workload file and a CI file according to the files in it."""
