"""Requests are counted under names that no sender can choose."""

from starlette.routing import Route

from api.middleware.request_counts import RequestCounts


def test_only_routes_methods_and_known_paths_are_names() -> None:
    counts = RequestCounts("/api", frozenset({"/track"}))
    route = Route("/things/{id}", lambda _: None)
    counts.count({"method": "GET", "path": "/things/1", "route": route}, 200)
    counts.count({"method": "GET", "path": "/things/2", "route": route}, 200)
    counts.count({"method": "GET", "path": "/api/things/3", "route": route}, 200)
    counts.count({"method": "POST", "path": "/track"}, 503)
    counts.count({"method": "BREW", "path": "/anything"}, 404)
    assert counts.by_route == {
        ("GET", "/things/{id}", 200): 2,
        ("GET", "/api/things/{id}", 200): 1,
        ("POST", "/track", 503): 1,
        ("other", "other", 404): 1,
    }
