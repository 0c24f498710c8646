"""Routes that are built when a request first needs one of them."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from api.late_routes import LateRoutes


async def answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.url.path)


def test_late_routes_are_built_once_by_the_first_request_that_no_other_route_takes() -> None:
    built = []

    def build() -> list[BaseRoute]:
        built.append("built")
        return [Route("/late", answer)]

    app = Starlette(routes=[Route("/at-once", answer)])
    late = LateRoutes(app.router, build)
    app.router.routes.append(late)
    client = TestClient(app)
    assert client.get("/at-once").text == "/at-once"
    assert built == []
    assert client.get("/late").text == "/late"
    assert client.get("/nowhere").status_code == 404
    assert late.put_in_place() == app.routes[1:]
    assert built == ["built"]


def test_a_build_that_fails_is_tried_again() -> None:
    results: list[list[BaseRoute]] = []

    def build() -> list[BaseRoute]:
        results.append([Route("/late", answer)])
        return results[1]

    app = Starlette()
    app.router.routes.append(LateRoutes(app.router, build))
    client = TestClient(app, raise_server_exceptions=False)
    assert [client.get("/late").status_code for _ in range(2)] == [500, 200]
