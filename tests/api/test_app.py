"""The application: its routes, and the store that it opens only to serve."""

from pathlib import Path

from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from api.app import create_app
from api.resources import RESOURCES
from api.routers import PREFIX
from api.routes import sdk
from api.sdk.endpoints import ROUTES as SDK_ROUTES
from pipeline.settings import Settings


def test_the_store_is_opened_when_the_application_serves(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    app = create_app(Settings(data_dir=folder))
    assert app.openapi()["info"]["title"] == "Truelift"
    assert not folder.exists()
    with TestClient(app) as client:
        assert client.get("/readyz").json()["status"] == "ready"
    assert folder.exists()


def test_the_endpoints_of_visitors_are_described_by_routes() -> None:
    described = {
        (route.path, *sorted(route.methods or ()))
        for route in sdk.router.routes
        if isinstance(route, APIRoute)
    }
    assert described == {(route.path, *sorted({*(route.methods or ())} - {"HEAD"})) for route in SDK_ROUTES}


def test_a_route_is_named_by_its_function() -> None:
    routes = [
        route for router in (sdk.router, *RESOURCES) for route in router.routes if isinstance(route, APIRoute)
    ]
    names = [route.endpoint.__name__ for route in routes]
    assert len(set(names)) == len(names) > 30
    document = create_app(Settings()).openapi()
    described = {
        operation["operationId"]
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if path.startswith(PREFIX)
    }
    assert described == set(names)
