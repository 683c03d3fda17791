"""The state in which a measured process starts: one small class for each attribute of it, each with show, apply, undo.

The runner takes an attribute on itself and gives it back afterwards; what it starts meanwhile inherits it.
"""
