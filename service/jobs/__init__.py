"""Schedules jobs, starts them on this machine, and orders bisects and profiles of drifts."""
