"""Routes and patterns of the application, built before processes are forked: none builds its own."""

from api.app import create_app
from pipeline.events.user_agent import compile_patterns
from pipeline.settings import Settings

ROUTES = tuple(create_app(Settings()).state.operations())
compile_patterns()
