"""The environment of Alembic's migrations: the caller opens the connection and its transaction."""

from alembic import context

from service.store.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite can only alter a table by copying it
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
