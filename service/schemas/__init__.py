"""Defines the models that the API answers with and the pages show."""
