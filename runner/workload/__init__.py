"""Workloads: what to build, what to run, and at which points of the parameter matrix."""

from runner.workload.definition import WORKLOAD_FILE, Workload, load_workload
from runner.workload.parameter_matrix import list_cases

__all__ = ["WORKLOAD_FILE", "Workload", "list_cases", "load_workload"]
