"""The connections to one decision service, for one event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from routing.providers.place import PinnedTransport, Place

KEEP_ALIVE_S = 30.0


class Pool:
    """As many clients of one connection each as are needed at once, up to a bound; further requests wait in the order in
    which they came. One client with many connections looks through all of them, and asks the system about each, at every
    request; and it closes those beyond its keep-alive. A client that was given is the only one, within the same bound.
    With a `place`, its addresses are looked at and connected to themselves; without, the system decides, and its proxies.
    """

    def __init__(
        self, most: int, *, secure: bool, given: httpx.AsyncClient | None = None, place: Place | None = None
    ) -> None:
        self._given = given
        self._place = place
        self._secure = secure
        self._trust: ssl.SSLContext | None = None
        self._turns = asyncio.Semaphore(most)
        self._idle: list[httpx.AsyncClient] = []
        self._clients: list[httpx.AsyncClient] = []

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """One whose connection is free, the one used last."""
        async with self._turns:
            if self._given is not None:
                yield self._given
                return
            client = self._idle.pop() if self._idle else self._new()
            try:
                yield client
            finally:
                self._idle.append(client)

    def _new(self) -> httpx.AsyncClient:
        if self._secure and self._trust is None:  # reading certificates takes its time, so once for all
            self._trust = httpx.create_ssl_context()
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEP_ALIVE_S)
        verify = self._trust or False
        if self._place is None:
            client = httpx.AsyncClient(limits=limits, follow_redirects=False, trust_env=True, verify=verify)
        else:
            # What goes to an address that was looked at has no business with a proxy.
            inner = httpx.AsyncHTTPTransport(limits=limits, trust_env=False, verify=verify)
            client = httpx.AsyncClient(
                transport=PinnedTransport(self._place, inner), follow_redirects=False, trust_env=False
            )
        self._clients.append(client)
        return client

    async def aclose(self) -> None:
        for client in self._clients:
            await client.aclose()
