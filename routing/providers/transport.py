"""Calls to servers that a registry names: the address is vetted when it is connected to, nothing is followed, and every call ends.

A server of one's own machine or network is the common case and allowed. What no model server has is refused: addresses of
the link, where clouds keep their credentials, of groups and of no use; and a secret never travels in the clear to a public
address.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Headers = Mapping[str, str]

CONNECT_S = 5.0
_METADATA = {ipaddress.ip_address("100.100.100.200"), ipaddress.ip_address("fd00:ec2::254")}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class CallFailed(Exception):
    """Why a call brought nothing, in a few words: never a text that was sent, a secret, or what the server said."""


class Server:
    """One server under one base address. Connections are kept; safe to share between threads."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CallFailed("its address is no http or https URL")
        self._scheme, self._host = parts.scheme, parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._base = parts.path.rstrip("/")
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def post(self, path: str, body: Any, *, headers: Headers, secret: bool, timeout_s: float, most: int) -> Any:
        """The JSON that a server answers to JSON. Raises CallFailed also for an answer over `most` bytes or a redirect.

        `secret`: the headers hold one.
        """
        deadline = time.monotonic() + timeout_s
        address = self._vetted(secret=secret)
        host = f"[{address}]" if address.version == 6 else str(address)
        request = self._open().build_request(
            "POST",
            f"{self._scheme}://{host}:{self._port}{self._base}{path}",
            content=orjson.dumps(body),
            headers={**headers, "Host": self._told_host(), "Content-Type": "application/json"},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
            extensions={"sni_hostname": self._host},
        )
        try:
            return self._answer(request, deadline, most)
        except httpx.TimeoutException:
            raise CallFailed("it did not answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as problem:
            raise CallFailed(f"it cannot be reached ({type(problem).__name__})") from None

    def _answer(self, request: httpx.Request, deadline: float, most: int) -> Any:
        response = self._open().send(request, stream=True)
        try:
            if response.status_code != 200:
                raise CallFailed(f"it answered with status {response.status_code}")
            read = bytearray()
            for piece in response.iter_bytes():
                read += piece
                if len(read) > most:
                    raise CallFailed("its answer is too long")
                if time.monotonic() > deadline:
                    raise CallFailed("it did not answer in time")
        finally:
            response.close()
        try:
            return orjson.loads(read)
        except ValueError:
            raise CallFailed("its answer is no JSON") from None

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:  # opening one reads certificates, so it waits for the first call
                self._client = httpx.Client(trust_env=False, follow_redirects=False)
            return self._client

    def _vetted(self, *, secret: bool) -> Address:
        """The address to connect to: the very one that was looked at, so that a name cannot change its meaning meanwhile."""
        try:
            found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise CallFailed("its name cannot be looked up") from None
        return vetted((str(entry[4][0]) for entry in found), clear_secret=secret and self._scheme == "http")[0]

    def _told_host(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return host if self._port in (80, 443) else f"{host}:{self._port}"


def vetted(found: Iterable[str], *, clear_secret: bool) -> list[Address]:
    """The addresses that a name leads to, when something may be sent to all of them. Raises CallFailed.

    `clear_secret`: what is sent holds a secret that everyone on the way can read.
    """
    addresses = [ipaddress.ip_address(one.partition("%")[0]) for one in found]
    if not addresses or any(is_refused(one) for one in addresses):
        raise CallFailed("its address is one that no server of models has")
    if clear_secret and not all(_meant(one).is_private for one in addresses):
        raise CallFailed("a secret is sent to a public address by https only")
    return addresses


def is_refused(address: Address) -> bool:
    """Whether nothing may be sent there, whichever way the address is written."""
    meant = _meant(address)
    return (
        meant.is_link_local
        or meant.is_multicast
        or meant.is_unspecified
        or (meant.is_reserved and not meant.is_loopback)
        or meant in _METADATA
    )


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address only wraps."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def secret_of(reference: str) -> str:
    """What a reference stands for. Raises CallFailed, which names the reference and never a value."""
    kind, _, name = reference.partition(":")
    value = os.environ.get(name, "") if kind == "env" else ""
    if not value:
        raise CallFailed(f"the secret {reference} is not set" if kind == "env" else f"{reference} cannot be read here")
    return value
