"""Runs the revisions on the connection that the catalog hands over, inside its transaction."""

from alembic import context

from pipeline.store.catalog.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
