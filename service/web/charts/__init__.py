"""Drawings: trends, sparklines and bisects as documents or SVG."""
