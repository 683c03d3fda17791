"""The version of Faultwatch that runs."""

from importlib.metadata import version

VERSION = version("faultwatch")
