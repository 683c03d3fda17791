"""Adopts a repository: proposes its workload file and its CI file from what lies in it."""
