"""Decides whether a pull request passes the gate, and describes why."""
