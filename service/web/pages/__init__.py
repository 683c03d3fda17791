"""The pages that people read: one blueprint a page, rendered on the server."""
