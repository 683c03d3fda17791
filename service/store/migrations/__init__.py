"""Changes of the schema, in order. Each runs once, when a newer service starts on an older database."""
