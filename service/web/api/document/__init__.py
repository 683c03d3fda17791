"""The OpenAPI document: a schema for each type, described by docstrings; operations with ids, scopes and examples."""
