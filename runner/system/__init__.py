"""Reads the files below ``/`` and parses the notation of the kernel."""
