"""The front-end packages that the service serves, with the one file of each. The wheel contains exactly these."""

FILES = {
    "chart.js": "dist/chart.umd.min.js",
    "chartjs-plugin-annotation": "dist/chartjs-plugin-annotation.min.js",
    "chartjs-plugin-zoom": "dist/chartjs-plugin-zoom.min.js",
    "d3-flame-graph": "dist/d3-flamegraph.min.js",
    "d3-selection": "dist/d3-selection.min.js",
    "hammerjs": "hammer.min.js",
    "htmx.org": "dist/htmx.min.js",
}
