"""Defines the models of the API's answers, which the pages show as well."""
