"""Decides which revisions a host still has to measure: missing ones, anchors, cross-measurements and reruns."""
