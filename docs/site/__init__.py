"""Builds the documentation as a site: ``python -m docs.site``, or ``make docs``."""
