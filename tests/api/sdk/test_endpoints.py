"""SDK endpoints, answered before the framework routes a request."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from fastapi import Request, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from api.errors import ApiError
from api.sdk.endpoints import SdkEndpoints


async def framework(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("the framework")(scope, receive, send)


def body_of(endpoints: SdkEndpoints, method: str = "POST", path: str = "/events") -> bytes:
    sent: list[Any] = []
    scope = {"type": "http", "method": method, "path": path, "headers": [], "state": {"request_id": "req_1"}}

    async def receive() -> Any:
        raise AssertionError("no endpoint here reads its body")

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(endpoints(scope, receive, send))
    return bytes(sent[1]["body"])


class Body:
    """What an endpoint works on."""


@pytest.fixture
def held() -> list["weakref.ref[Body]"]:
    return []


@pytest.fixture
def endpoints(held: list["weakref.ref[Body]"]) -> SdkEndpoints:
    async def track(request: Request) -> Response:
        return Response("the endpoint")

    async def refuse(request: Request) -> Response:
        body = Body()
        held.append(weakref.ref(body))
        # This frame keeps the error, and the error its frames.
        error = ApiError("forbidden", "no")
        raise error

    routes = [Route("/events", track, methods=["POST"]), Route("/refused", refuse, methods=["POST"])]
    return SdkEndpoints(framework, routes)


def test_only_the_method_and_path_of_an_endpoint_reach_it(endpoints: SdkEndpoints) -> None:
    assert body_of(endpoints) == b"the endpoint"
    others = [("GET", "/events"), ("POST", "/events/"), ("POST", "/Events"), ("OPTIONS", "/events")]
    assert [body_of(endpoints, *other) for other in others] == [b"the framework"] * len(others)


def test_a_refused_request_is_not_kept_until_garbage_is_collected(
    endpoints: SdkEndpoints, held: list["weakref.ref[Body]"]
) -> None:
    gc.disable()
    try:
        assert b'"code":"forbidden"' in body_of(endpoints, path="/refused")
        assert [kept() for kept in held] == [None]
    finally:
        gc.enable()
