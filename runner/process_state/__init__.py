"""The state in which a measured process starts: one class for each attribute, which can read, apply and undo it.

The runner applies the attributes to itself and undoes them afterwards; processes started in between inherit them.
"""
