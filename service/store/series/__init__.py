"""Series: their points, the drifts detected in them, and what is drawn of them."""
