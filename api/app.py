"""The application: routes, middleware and the MCP endpoint."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import cache
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from api import errors
from api.dashboard import routes as dashboard
from api.mcp.endpoint import McpEndpoint
from api.middleware.key_in_path import PATH
from api.middleware.outer_middleware import OuterMiddleware
from api.middleware.request_counts import RequestCounts
from api.openapi import describe, described_by
from api.operator import operator_routes
from api.routes import (
    account,
    api_keys,
    capabilities,
    experiments,
    exports,
    health,
    members,
    metrics,
    programme,
    projects,
    results,
    runs,
    sdk,
    sdk_keys,
    sdk_scripts,
    tools,
    visitors,
)
from api.routes.imports import import_operations
from api.routes.webhooks import delivery_operations, webhook_operations
from api.sdk import flags, page_debug
from api.sdk.direct_events import DirectEvents
from api.sdk.endpoints import SdkEndpoints
from api.services import Services, open_services
from api.unknown_paths import refuse_unknown_path
from pipeline.settings import Settings

VERSION: Final = "1.0.0"
PREFIX: Final = "/api/v1"
# Tried in order; those of the SDK are answered before.
RESOURCES: Final[tuple[APIRouter, ...]] = (
    projects.router,
    sdk_keys.router,
    experiments.router,
    results.router,
    exports.router,
    metrics.router,
    runs.router,
    webhook_operations.router,
    delivery_operations.router,
    visitors.router,
    import_operations.router,
    programme.router,
    account.router,
    members.router,
    api_keys.router,
    capabilities.router,
    tools.router,
)


def create_app(settings: Settings, opened: AbstractContextManager[Services] | None = None) -> FastAPI:
    """Create the application; when it starts to serve it enters `opened`, or opens the store itself."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with opened or open_services(settings) as services:
            app.state.services = services
            async with mcp.serving():
                yield

    answered_before = _sdk_routes()
    sdk_paths = frozenset(str(route.path) for route in iter_route_contexts(answered_before))
    counts = RequestCounts(PREFIX, sdk_paths)
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
        generate_unique_id_function=_operation_id,
        middleware=[
            Middleware(OuterMiddleware, networks=settings.trusted_networks, counts=counts),
            Middleware(SdkEndpoints, routes=answered_before),
        ],
        # Otherwise each request looks for the settings of OpenTelemetry in the environment.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.openapi = describe(app)  # type: ignore[method-assign] # FastAPI's documented way to extend the document
    errors.install(app)
    app.state.request_counts = counts
    app.state.direct_events = DirectEvents(app, settings.trusted_networks, counts)
    app.router.routes.extend(_resource_routes())
    app.include_router(health.router)
    app.include_router(sdk_scripts.router)
    mcp = McpEndpoint(app)
    app.router.routes.append(Route("/openapi.json", described_by(app)))
    # Protocols of their own, which the document leaves to theirs.
    app.router.routes.append(Route(PATH, mcp, methods=["POST"]))
    app.router.routes.extend(flags.ROUTES)
    # Asked by the panel of the same version alone.
    app.router.routes.extend(page_debug.ROUTES)
    app.router.routes.extend(operator_routes.ROUTES)
    app.router.routes.extend(dashboard.ROUTES)
    # Last, for what no route takes.
    app.mount(PREFIX, refuse_unknown_path)
    # Every route that takes requests, for the document, the tools and the methods of a path.
    app.state.operations = [*answered_before, *app.routes]
    return app


@cache
def _sdk_routes() -> list[BaseRoute]:
    return _with_prefix(sdk.router)


@cache
def _resource_routes() -> list[BaseRoute]:
    return _with_prefix(*RESOURCES)


def _with_prefix(*routers: APIRouter) -> list[BaseRoute]:
    """Return the routes of routers under PREFIX, outside of any application.

    FastAPI builds the model of each parameter at the first request: once a process, not once an application.
    """
    prefixed = APIRouter(generate_unique_id_function=_operation_id)
    for router in routers:
        prefixed.include_router(router, prefix=PREFIX)
    return prefixed.routes


def _operation_id(route: APIRoute) -> str:
    return route.name
