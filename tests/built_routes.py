"""Routes of the application, built before processes are forked: none of them builds its own."""

from fastapi.routing import iter_route_contexts

from api.app import create_app
from pipeline.settings import Settings

# Otherwise the first request to each would build the models of every parameter.
ROUTES = tuple(iter_route_contexts(create_app(Settings()).router.routes))
