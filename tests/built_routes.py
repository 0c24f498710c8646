"""Routes of the application, built before processes are forked: none of them builds its own."""

from api.app import create_app
from pipeline.settings import Settings

ROUTES = tuple(create_app(Settings()).state.operations())
