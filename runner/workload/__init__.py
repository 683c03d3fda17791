"""Workloads: what to build, what to run, and at which points of the parameter matrix."""

from runner.workload.definition import Workload, load_workload
from runner.workload.matrix import cases

__all__ = ["Workload", "cases", "load_workload"]
