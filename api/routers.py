"""Routers of the API, whose routes are those of the application: each is built once a process."""

from typing import Any, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute

PREFIX: Final = "/api/v1"


def router_at(path: str, **options: Any) -> APIRouter:  # noqa: ANN401 - the framework's
    """Make a router at a path, whose operations are named by their functions.

    Including a router in another, or in an application, would build all of its routes a second time.
    """
    return APIRouter(prefix=path, generate_unique_id_function=_operation_id, **options)


def _operation_id(route: APIRoute) -> str:
    return route.name
