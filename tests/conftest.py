"""What all tests share: a real bus, clean memory between tests, the application over HTTP, and installations of real processes."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection, transaction
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from control import lifeline, processes
from control.environment import environment

# Several processes share two cores: how long an example takes says nothing.
hypothesis_settings.register_profile(
    "switchyard", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
hypothesis_settings.load_profile("switchyard")


def pytest_configure(config: pytest.Config) -> None:
    if settings.SETTINGS_MODULE != "tests.settings":
        raise pytest.UsageError("DJANGO_SETTINGS_MODULE is set: unset it, or the tests would use a real data dir")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of a group run in one process, and share what is made once in it: an installation costs seconds of every start.

    pytest-xdist 3.8 writes the group into the id of a test where pytest 9.2 no longer reads it.
    """
    if not config.getoption("loadgroup", False):  # of the processes that run tests
        return
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group is not None and not item.nodeid.endswith(f"@{group.args[0]}"):
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")


def pytest_collection_finish() -> None:
    """Modules and collected tests live to the end: the collector need not walk them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def bus_server() -> Iterator[str]:
    """The bus of this test process: the server of REDIS_URL, or one of its own from the wheel."""
    if environment.redis_url:
        redis.Redis.from_url(settings.BUS_URL).ping()
        yield settings.BUS_URL
        return
    place = environment.bus_socket
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = environment.data_dir / "bus"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = processes.bus(socket=place, directory=directory).command
    with (environment.data_dir / "bus.log").open("wb") as log:
        tests = os.getpid()
        # Tests that are killed must not leave their bus behind.
        server = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=(lambda: lifeline.die_with(tests)) if sys.platform == "linux" else None,
        )
    try:
        _wait_for(settings.BUS_URL)
        yield settings.BUS_URL
    finally:
        server.terminate()
        server.wait(timeout=10)


def _wait_for(url: str) -> None:
    client = redis.Redis.from_url(url)
    for _ in range(200):
        try:
            client.ping()
            return
        except redis.RedisError:
            time.sleep(0.05)
    raise RuntimeError(f"the bus at {url} does not answer")


@pytest.fixture(scope="session", autouse=True)
def emptied_by_deleting() -> Iterator[None]:
    """PostgreSQL writes new files for every table that it truncates: to delete the few rows of a test is much quicker."""
    with pytest.MonkeyPatch.context() as patched:
        if connection.vendor == "postgresql":
            patched.setattr(type(connection.ops), "sql_flush", _deletes)
        yield


def _deletes(operations: Any, style: Any, tables: list[str], **_: Any) -> list[str]:
    """In any order: what refers to what is looked at when the transaction ends."""
    return ["; ".join(f"DELETE FROM {operations.quote_name(table)}" for table in tables)] if tables else []


@pytest.fixture(autouse=True)
def clean_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """What processes keep in memory and on the bus belongs to the database of one test."""
    if not {"db", "transactional_db", "live_address"} & set(request.fixturenames):
        yield
        return
    _forget()
    yield
    _forget_generations()


def _forget() -> None:
    from routing import bus, totals
    from routing.services import checks, registry
    from routing.services.doctor import examinations
    from routing.services.providers import routers

    _forget_generations()
    registry.forget()
    totals.forget()
    examinations.forget()
    checks.forget()
    routers.forget()
    bus.client().flushdb()


def _forget_generations() -> None:
    from routing import generation

    generation.forget_all()


@pytest.fixture(scope="module")
def lasting_db(bus_server: str, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A transaction around the tests of a module that use `db`, for what is made once: each of them begins with it anew."""
    _forget()  # what the module makes has the keys that rows of other tests had
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patched, transaction.atomic():
        patched.setattr(connection, "close", lambda: None)  # what `db` does when it ends
        yield
        transaction.set_rollback(True)


@pytest.fixture
def one_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """What providers came to is added up in one hour, also while the clock strikes."""
    from routing.services.providers import figures

    began = figures.this_hour()
    monkeypatch.setattr(figures, "this_hour", lambda: began)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks the network what a name leads to: none leads anywhere, unless a test says so."""
    from routing.providers import names

    names.forget()
    monkeypatch.setattr(names, "lookup", lambda host, port: [])


# --- The application over real HTTP ---------------------------------------------------------------------------------
@pytest.fixture
def live_address(transactional_db: None) -> Iterator[str]:
    """The ASGI application behind uvicorn in a thread, on the test's own database; pytest-django's is WSGI and cannot stream."""
    import threading

    import uvicorn

    from control.asgi import application

    config = uvicorn.Config(application, host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="live-server", daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=10)


# --- Installations of real processes ----------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One installation with the demo content, started by `manage.py up`, for all tests that only use it (group `installation`)."""
    from tests.installation import Installation

    with Installation.started(tmp_path_factory.mktemp("installation"), "--demo") as running:
        yield running


@pytest.fixture
async def asgi() -> AsyncIterator[Any]:
    """The ASGI application with its start and stop, for asynchronous tests without a server."""
    from control.asgi import application

    incoming: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    task = asyncio.create_task(application({"type": "lifespan"}, incoming.get, outgoing.put))
    await incoming.put({"type": "lifespan.startup"})
    await outgoing.get()
    yield application
    await incoming.put({"type": "lifespan.shutdown"})
    await outgoing.get()
    await task


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-openapi", action="store_true", help="write the API's description anew instead of comparing it"
    )
