"""Calls to servers that a registry names: the address is vetted when it is connected to, nothing is followed, and every call ends.

A server of one's own machine or network is the common case and allowed. What no model server has is refused: addresses of
the link, where clouds keep their credentials, of groups and of no use; and a secret never travels in the clear to a public
address.
"""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from routing.providers.addresses import Destinations
from routing.providers.place import CallFailed, Place

__all__ = ["CallFailed", "Reply", "Server", "secret_of"]
Headers = Mapping[str, str]

CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it comes in: `pieces` raises CallFailed when it grows over its bound or takes too long."""

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class Server:
    """One server under one base address. Connections are kept; safe to share between threads.

    `allow`: what the workspace lets through of addresses that are not public; None lets all of those through.
    """

    def __init__(self, url: str, allow: Destinations | None = None) -> None:
        self._place = Place.of(url, allow)
        parts = urlsplit(url)
        self._base = parts.path.rstrip("/")
        self._whole = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def post(self, path: str, body: Any, *, headers: Headers, secret: bool, timeout_s: float, most: int) -> Any:
        """The JSON that a server answers to JSON. Raises CallFailed also for an answer over `most` bytes or a redirect.

        `secret`: the headers hold one.
        """
        with self.asking("POST", path, body, headers=headers, secret=secret, timeout_s=timeout_s, most=most) as reply:
            return json_of(reply)

    def get(self, path: str, *, headers: Headers, secret: bool, timeout_s: float, most: int) -> Any:
        """The JSON under a path below the base address; raises as `post`."""
        with self.asking("GET", path, None, headers=headers, secret=secret, timeout_s=timeout_s, most=most) as reply:
            return json_of(reply)

    @contextmanager
    def asking(
        self,
        method: str,
        path: str | None,
        body: Any,
        *,
        headers: Headers,
        secret: bool,
        timeout_s: float,
        most: int,
        is_unwanted: Callable[[], bool] = lambda: False,
    ) -> Iterator[Reply]:
        """One request, and its answer while it comes in; without `path` the URL is taken as it was written.

        No redirect is followed, nothing compressed is taken, and `is_unwanted` is asked while the answer is read.
        """
        deadline = time.monotonic() + timeout_s
        address = self._place.look_up(secret=secret)[0]
        host = f"[{address}]" if address.version == 6 else str(address)
        target = self._whole if path is None else f"{self._base}{path}"
        try:
            request = self._open().build_request(
                method,
                f"{self._place.scheme}://{host}:{self._place.port}{target}",
                content=None if body is None else orjson.dumps(body),
                headers={
                    "Accept": "application/json",
                    **headers,
                    "Host": self._place.told_host,
                    "Accept-Encoding": "identity",
                    **({} if body is None else {"Content-Type": "application/json"}),
                },
                timeout=httpx.Timeout(max(timeout_s, 0.001), connect=min(max(timeout_s, 0.001), CONNECT_S)),
                extensions={"sni_hostname": self._place.host},
            )
            response = self._open().send(request, stream=True)
            try:
                yield Reply(response.status_code, response.headers, _pieces(response, deadline, most, is_unwanted))
            finally:
                response.close()
        except httpx.TimeoutException:
            raise CallFailed("it did not answer in time", "timeout") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as problem:
            raise _unreached(problem) from None

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:  # opening one reads certificates, so it waits for the first call
                self._client = httpx.Client(
                    trust_env=False, follow_redirects=False, verify=self._place.scheme == "https"
                )
            return self._client


def json_of(reply: Reply) -> Any:
    """The JSON of a good answer. Raises CallFailed for any other."""
    refuse(reply)
    try:
        return orjson.loads(b"".join(reply.pieces))
    except ValueError:
        raise CallFailed("its answer is no JSON", "answer") from None


def refuse(reply: Reply) -> None:
    """Raise CallFailed for an answer that is not 200."""
    status = reply.status
    if status in (401, 403):
        raise CallFailed(f"it answered with status {status}: the credential is missing or not accepted", "credential")
    if 300 <= status < 400:
        raise CallFailed(f"it answered with status {status}, a redirect, and none is followed", "redirect")
    if status != 200:
        raise CallFailed(f"it answered with status {status}", "status")


def _pieces(response: httpx.Response, deadline: float, most: int, is_unwanted: Callable[[], bool]) -> Iterator[bytes]:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise CallFailed("its answer is compressed, which was not asked for", "answer")
    read = 0
    for piece in response.iter_raw():
        read += len(piece)
        if read > most:
            raise CallFailed("its answer is too long", "size")
        if time.monotonic() > deadline:
            raise CallFailed("it did not answer in time", "timeout")
        if is_unwanted():
            raise CallFailed("it was stopped", "cancelled")
        yield piece


def _unreached(problem: BaseException) -> CallFailed:
    """What stands behind a lost connection, in words."""
    causes: list[BaseException] = []
    cause: BaseException | None = problem
    while cause is not None and len(causes) < 8:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(one, ssl.SSLCertVerificationError) for one in causes):
        return CallFailed("its certificate is not accepted", "tls")
    if any(isinstance(one, ssl.SSLError) for one in causes):
        return CallFailed("no secure connection comes about (TLS)", "tls")
    if any(isinstance(one, ConnectionRefusedError) for one in causes):
        return CallFailed("nothing listens there: the connection was refused", "refused")
    return CallFailed(f"it cannot be reached ({type(problem).__name__})", "unreachable")


def secret_of(reference: str) -> str:
    """What a reference stands for. Raises CallFailed, which names the reference and never a value."""
    kind, _, name = reference.partition(":")
    value = os.environ.get(name, "") if kind == "env" else ""
    if not value:
        raise CallFailed(
            f"the secret {reference} is not set" if kind == "env" else f"{reference} cannot be read here", "secret"
        )
    return value
