"""Routes of resources, of pages, and of the operator: what neither visitors nor health checks ask for."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute, Mount, Route

from api.dashboard import routes as dashboard
from api.dashboard.unknown_pages import UnknownPages
from api.openapi import described_by
from api.operator import operator_routes
from api.routers import PREFIX
from api.routes import (
    account,
    api_keys,
    capabilities,
    experiment_reviews,
    experiment_sums,
    experiments,
    exports,
    groups,
    holdouts,
    members,
    metrics,
    programme,
    projects,
    results,
    runs,
    sdk_keys,
    share_links,
    shipping,
    tools,
    verdicts,
    visitors,
)
from api.routes.imports import import_operations
from api.routes.webhooks import channel_operations, delivery_operations, webhook_operations
from api.unknown_paths import refuse_unknown_path

# Tried in order.
RESOURCES: Final[tuple[APIRouter, ...]] = (
    projects.router,
    sdk_keys.router,
    experiments.router,
    shipping.router,
    experiment_reviews.router,
    share_links.router,
    results.router,
    exports.router,
    experiment_sums.router,
    metrics.router,
    groups.router,
    holdouts.router,
    holdouts.results_router,
    runs.router,
    webhook_operations.router,
    delivery_operations.router,
    channel_operations.router,
    visitors.router,
    import_operations.router,
    programme.router,
    verdicts.router,
    account.router,
    members.router,
    api_keys.router,
    share_links.account_router,
    capabilities.router,
    tools.router,
)


def resource_routes(app: FastAPI) -> Sequence[BaseRoute]:
    """List the routes, with that of the document of `app`, and what refuses all other paths."""
    return [
        *chain.from_iterable(router.routes for router in RESOURCES),
        Route("/openapi.json", described_by(app)),
        *operator_routes.ROUTES,
        *dashboard.ROUTES,
        # Last, for what no route takes.
        Mount(PREFIX, refuse_unknown_path),
        UnknownPages(),
    ]
