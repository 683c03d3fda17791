"""Reads and writes files safely, and examines processes and other parts of the system."""
