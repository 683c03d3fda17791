"""Events: their drifts, what people decided about them, who was notified, and the cross-measurements they wait for."""
