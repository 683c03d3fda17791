"""The OpenAPI document: one schema a type, described by the docstrings; operations with ids, scopes and examples."""
