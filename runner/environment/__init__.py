"""The environment: every setting that can change a fault count, read from /proc, /sys and the tools below a root."""
