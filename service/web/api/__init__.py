"""The HTTP API: one blueprint a noun, below /api/v1."""
