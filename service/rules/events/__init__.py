"""Groups drifts into events, and decides about the events: lifecycle, resolution, silences."""
