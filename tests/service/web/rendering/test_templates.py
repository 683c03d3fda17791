from flask import Flask

from service.web.rendering.templates import compile_templates


def test_the_first_reader_of_a_page_does_not_wait_for_its_template(app: Flask) -> None:
    cache = app.jinja_env.cache
    assert cache is not None
    cache.clear()
    compile_templates(app)
    assert {name for _, name in cache} >= {"compare.html", "overview.html", "partials/event_list.html"}
