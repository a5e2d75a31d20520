"""What must be there before anything serves: the tables, and on the first start administrator, key and demo content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from control.environment import environment

Say = Callable[[str], None]
CONNECT_TIMEOUT_S = 5


class DatabaseAway(Exception):
    """The database of DATABASE_URL does not let us in; one line says where and why."""


def reach_database() -> None:
    """Raise DatabaseAway unless a server of its own lets us in. SQLite is a file of ours and asked nothing."""
    if connection.vendor != "postgresql":
        return
    import psycopg

    # Not through the pool, which would try for long and log each time.
    wanted = {"connect_timeout": CONNECT_TIMEOUT_S} | connection.get_connection_params()
    try:
        psycopg.connect(**wanted).close()
    except (psycopg.Error, OSError) as problem:
        said = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        raise DatabaseAway(f"DATABASE_URL: the database {environment.database_place} cannot be used: {said}") from None


def why_not_started() -> str | None:
    """What keeps a command from working on this installation; None when nothing does. Creates nothing.

    Raises DatabaseAway.
    """
    reach_database()
    advice = "start it first with `manage.py up`, or prepare it with `manage.py prepare`"
    if not environment.has_secrets or not has_database():
        return f"there is no installation in {environment.data_dir} yet: {advice}"
    if pending_migrations():
        return f"the database is not up to date: {advice}"
    return None


def has_database() -> bool:
    """Whether there is a database to connect to; connecting to SQLite would make the file."""
    name = str(connection.settings_dict["NAME"])
    return connection.vendor != "sqlite" or ":memory:" in name or "mode=memory" in name or Path(name).exists()


def pending_migrations() -> list[str]:
    """Names of the migrations that the database lacks."""
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def migrate(say: Say) -> None:
    """Bring the database up to date; says so only when there is something to do. Raises DatabaseAway."""
    reach_database()
    pending = pending_migrations()
    if pending:
        say(f"bringing the database up to date ({len(pending)} migrations)")
        call_command("migrate", interactive=False, verbosity=0)


def first_content(*, url: str, is_loopback: bool, demo: bool | None, say: Say) -> bool:
    """Administrator, key and, unless `demo` is False, demo content on the first start; True when this was the first.

    `demo` True loads the demo content whenever it is asked for. On a machine of one's own (`is_loopback`) endpoints may be
    there too, a model server for instance; any other new installation calls no private address until it is told to.
    """
    from control import firstrun
    from control.demo import load
    from routing.models import Workspace
    from routing.models.actor import SYSTEM
    from routing.services import workspaces

    made = firstrun.ensure(environment.data_dir, environment.public_url or url)
    if demo or (made is not None and demo is None):
        say("loading the demo content")
        load(by=SYSTEM)
    if made is not None and is_loopback:
        for workspace in Workspace.objects.all():
            workspaces.configure(workspace, {"allow_private": ["127.0.0.0/8", "::1"]}, by=SYSTEM)
    return made is not None


def close_connections() -> None:
    """Let go of the database; processes that are started afterwards open their own connections."""
    connections.close_all()
    for opened in connections.all(initialized_only=True):
        close_pool = getattr(opened, "close_pool", None)
        if close_pool is not None:
            close_pool()
