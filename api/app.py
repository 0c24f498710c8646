"""The application: routes, middleware and the MCP endpoint."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from api import errors
from api.late_routes import LateRoutes
from api.mcp.endpoint import McpEndpoint
from api.middleware.key_in_path import PATH
from api.middleware.outer_middleware import OuterMiddleware
from api.middleware.request_counts import RequestCounts
from api.routers import PREFIX
from api.routes import health, sdk_scripts
from api.sdk import flags, page_debug
from api.sdk.direct_events import DirectEvents
from api.sdk.endpoints import ROUTES as SDK_ROUTES
from api.sdk.endpoints import SdkEndpoints
from api.services import Services, open_services
from pipeline.events.user_agent import compile_patterns
from pipeline.settings import Settings

VERSION: Final = "1.0.0"


def create_app(settings: Settings, opened: AbstractContextManager[Services] | None = None) -> FastAPI:
    """Create the application; when it starts to serve it enters `opened`, or opens the store itself."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with opened or open_services(settings) as services:
            app.state.services = services
            # Now, and not by the first visitor.
            asyncio.get_running_loop().run_in_executor(None, compile_patterns)
            async with mcp.serving():
                yield

    def resource_routes() -> Sequence[BaseRoute]:
        # Slow to import, and needed by neither visitors nor health checks.
        from api.resources import resource_routes  # noqa: PLC0415 - see above

        return resource_routes(app)

    def operations() -> list[BaseRoute]:
        """Return every route that takes requests, for the document, the tools and the methods of a path."""
        from api.routes import sdk  # noqa: PLC0415 - it describes what is answered before any route

        return [*sdk.router.routes, *late.put_in_place(), *at_once]

    def openapi() -> dict[str, Any]:
        from api.openapi import document_of  # noqa: PLC0415 - slow, and seldom needed

        return document_of(app)

    counts = RequestCounts(PREFIX, frozenset(route.path for route in SDK_ROUTES))
    app = FastAPI(
        title="Truelift",
        version=VERSION,
        lifespan=lifespan,
        # Below, as it is encoded once.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # An unknown path is a 404, never a redirect.
        redirect_slashes=False,
        middleware=[
            Middleware(OuterMiddleware, networks=settings.trusted_networks, counts=counts),
            Middleware(SdkEndpoints, routes=SDK_ROUTES),
        ],
        # Otherwise each request looks for the settings of OpenTelemetry in the environment.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's documented way to extend the document
    errors.install(app)
    app.state.request_counts = counts
    app.state.direct_events = DirectEvents(app, settings.trusted_networks, counts)
    mcp = McpEndpoint(app)
    at_once = [
        *health.router.routes,
        *sdk_scripts.router.routes,
        # Protocols of their own, which the document leaves to theirs.
        Route(PATH, mcp, methods=["POST"]),
        *flags.ROUTES,
        # Asked by the panel of the same version alone.
        *page_debug.ROUTES,
    ]
    late = LateRoutes(app.router, resource_routes)
    app.router.routes.extend([*at_once, late])
    app.state.operations = operations
    return app
