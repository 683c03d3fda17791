"""Series: their points, the drifts detected in them, and their sparklines."""
