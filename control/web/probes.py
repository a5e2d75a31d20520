"""Probes: does the web process live, and can the installation answer."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse

from routing import bus

WORKERS = ("decide", "ledger", "search")


async def healthz(request: HttpRequest) -> HttpResponse:
    return _text("ok", 200)


async def readyz(request: HttpRequest) -> HttpResponse:
    """One line a part; 503 unless database, bus and every worker answer."""
    lines = await sync_to_async(_lines)()
    return _text(
        "\n".join(f"{part} {word}" for part, word in lines), 200 if all(word == "ok" for _, word in lines) else 503
    )


def _lines() -> list[tuple[str, str]]:
    return [(part, _try(check)) for part, check in (("database", _database), ("bus", bus.ping), ("worker", _workers))]


def _try(check: Callable[[], None]) -> str:
    try:
        check()
    except _NotReady as error:
        return str(error)
    except Exception as error:
        return f"does not answer ({type(error).__name__})"
    return "ok"


class _NotReady(Exception):
    pass


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM routing_workspace LIMIT 1")


def _workers() -> None:
    silent = [name for name, beats in bus.hearts(WORKERS).items() if not beats]
    if silent:
        raise _NotReady(f"silent: {', '.join(silent)}")


def _text(body: str, status: int) -> HttpResponse:
    response = HttpResponse(
        body + "\n", status=status, content_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"}
    )
    # "Not ready" is an answer, asked for several times a second during a start, and no error for the log.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
