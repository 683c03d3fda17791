"""Drawings: trends and bisects as documents or SVG."""
