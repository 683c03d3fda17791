"""How Sphinx builds the site. Nothing is loaded from another host: no fonts, no scripts, no analytics."""

from service.installed_version import VERSION

project = "Faultwatch"
version = release = VERSION
project_copyright = "Faultwatch's authors, Apache-2.0"
language = "en"
extensions = ["myst_parser"]
myst_heading_anchors = 6
nitpicky = True

html_theme = "furo"
html_title = "Faultwatch"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "../../service/web/static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
