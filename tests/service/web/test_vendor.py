import pytest
from flask import Flask
from flask.testing import FlaskClient

from service.web import vendor


@pytest.fixture
def client() -> FlaskClient:
    app = Flask("vendor")
    app.register_blueprint(vendor.bp)
    return app.test_client()


@pytest.mark.parametrize("package", [*vendor.CHART_SCRIPTS, *vendor.FLAME_SCRIPTS, "htmx.org"])
def test_a_file_is_served_for_good_under_its_version(client: FlaskClient, package: str) -> None:
    with client.application.test_request_context():
        address = vendor.find_address(package)
    with client.get(address) as answer:
        assert answer.status_code == 200
        assert answer.mimetype == "text/javascript"
        assert answer.cache_control.immutable
        assert answer.cache_control.max_age == 365 * 24 * 3600


@pytest.mark.parametrize(
    "address",
    [
        "/vendor/chart.js/0.0.1/chart.umd.min.js",
        "/vendor/chart.js/4.6.1/chart.umd.min.js.map",
        "/vendor/chart.js/4.6.1/../package.json",
        "/vendor/chart.js/../vendor.py",
        "/vendor/../../app.py",
        "/vendor/chart.js/%2e%2e/%2e%2e%2fvendor.py",
        "/vendor/none/1.0/none.js",
    ],
)
def test_nothing_else_is_served(client: FlaskClient, address: str) -> None:
    assert client.get(address).status_code == 404
