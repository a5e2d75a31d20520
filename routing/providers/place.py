"""Where a server is: the one reading of its URL, and the one judgement about the addresses behind its name."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from routing.providers.addresses import Address, Destinations, is_refused, meant, read_addresses, reason_against

PINNED_S = 30.0  # how long an address that was looked at is connected to without another look at its name
MOST_TRIED = 3


class CallFailed(Exception):
    """Why a call brought nothing, in a few words: never a text that was sent, a secret, or what the server said.

    `code` says the same to programs: name, address, refused, unreachable, tls, timeout, redirect, credential, status, size,
    answer, secret or cancelled.
    """

    def __init__(self, message: str, code: str = "answer") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Place:
    """Scheme, host and port. `allow`: what the workspace lets through of addresses that are not public; None lets all through."""

    scheme: str
    host: str
    port: int
    allow: Destinations | None = None

    @classmethod
    def of(cls, url: str, allow: Destinations | None = None) -> Place:
        """Raises CallFailed for what is no http or https URL."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise CallFailed("its address is no http or https URL", "address") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CallFailed("its address is no http or https URL", "address")
        return cls(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), allow)

    @property
    def told_host(self) -> str:
        """As the Host header spells it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (80, 443) else f"{host}:{self.port}"

    def look_up(self, *, secret: bool) -> list[Address]:
        """The addresses to connect to. Raises CallFailed. `secret`: what is sent holds one."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise CallFailed("its name cannot be looked up", "name") from None
        return self.vetted([str(entry[4][0]) for entry in found], secret=secret)

    def vetted(self, found: Iterable[str], *, secret: bool) -> list[Address]:
        addresses = vetted(found, clear_secret=secret and self.scheme == "http")
        for address in addresses:
            if reason := reason_against(address, self.host, self.port, self.allow):
                raise CallFailed(reason, "address")
        return addresses


def vetted(found: Iterable[str], *, clear_secret: bool) -> list[Address]:
    """The addresses that a name leads to, when something may be sent to all of them. Raises CallFailed.

    `clear_secret`: what is sent holds a secret that everyone on the way can read.
    """
    addresses = read_addresses(found)
    if not addresses or any(is_refused(one) for one in addresses):
        raise CallFailed("its address is one that no server of models or tools has", "address")
    if clear_secret and not all(meant(one).is_private for one in addresses):
        raise CallFailed("a secret is sent to a public address by https only", "secret")
    return addresses


class PinnedTransport(httpx.AsyncBaseTransport):
    """Connects to the very addresses of a place that were looked at, so that a name cannot change its meaning meanwhile.

    Everything sent is taken to hold a secret. Raises CallFailed.
    """

    def __init__(self, place: Place, inner: httpx.AsyncBaseTransport) -> None:
        self._place, self._inner = place, inner
        self._addresses: list[Address] = []
        self._until = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        addresses = (await self._pinned())[:MOST_TRIED]
        request.extensions = {**request.extensions, "sni_hostname": self._place.host}
        for address in addresses[:-1]:
            try:
                return await self._sent(request, address)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # nothing was sent; another of its addresses may answer
        return await self._sent(request, addresses[-1])

    async def _sent(self, request: httpx.Request, address: Address) -> httpx.Response:
        request.url = request.url.copy_with(host=str(address))
        return await self._inner.handle_async_request(request)

    async def _pinned(self) -> list[Address]:
        if time.monotonic() >= self._until:
            self._addresses = await asyncio.to_thread(self._place.look_up, secret=True)
            self._until = time.monotonic() + PINNED_S
        return self._addresses

    async def aclose(self) -> None:
        await self._inner.aclose()
