"""Reads the version of the installed Faultwatch."""

from importlib.metadata import version

VERSION = version("faultwatch")
