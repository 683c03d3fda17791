"""The shapes of what the API answers and the pages show."""
