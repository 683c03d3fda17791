"""The pages that people read, rendered on the server: one blueprint for each page."""
