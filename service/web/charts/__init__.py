"""Charts and pictures: trends, drifts, bisects and badges, as JSON for the browser or as SVG."""
