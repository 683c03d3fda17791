"""Observes processes that run already: chooses them, reads their figures every second, records them thinly."""
