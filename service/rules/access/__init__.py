"""Decides who may do what: scopes and tokens."""
