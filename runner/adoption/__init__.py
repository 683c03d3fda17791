"""Adopts a repository: proposes a workload file and a CI file that suit its contents."""
