"""The Decisions API over HTTP: OpenRouter's, TypeSafe's own, or that of a gateway which serves the same shape."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from routing.engine.confidence import RULES
from routing.engine.errors import (
    InvalidProviderResponse,
    ProviderError,
    ProviderTimeoutError,
    RouterConfigurationError,
)
from routing.engine.models import ChoiceDecision
from routing.engine.registry import Provider
from routing.engine.secrets import names_a_secret, url_secret
from routing.providers.addresses import Destinations
from routing.providers.dialects import DIALECTS, Answer, WireDialect, confidence_of
from routing.providers.place import CallFailed, Place
from routing.providers.pool import Pool
from routing.providers.redaction import Key

LONGEST_ANSWER = 2**20  # bytes
LONGEST_EXCERPT = 500  # characters of an error's body
_READ_FOR_EXCERPT = 8 * LONGEST_EXCERPT
_RETRIED = ("overload", "server", "connection")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 8.0
_KINDS = {401: "credential", 403: "credential", 402: "payment", 429: "overload", 529: "overload"}


def _check_address(address: str) -> None:
    try:
        url = httpx.URL(address)
        urlsplit(address).port  # noqa: B018  (looks whether it is one)
    except (httpx.InvalidURL, TypeError, ValueError):
        raise RouterConfigurationError("url is no URL") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise RouterConfigurationError("url must be an http or https URL")
    if secret := url_secret(address):
        raise RouterConfigurationError(f"url must not hold a secret ({secret})")


@dataclass(frozen=True, slots=True)
class OpenRouterConfig:
    """Where a decision service is and how it is spoken to. Raises RouterConfigurationError.

    `path`, when given, is put after `url`; `timeout_seconds` bounds a whole answer, pauses and repeated requests included;
    `dialect` is openrouter, typesafe, compatible or a `WireDialect`; `headers` go with every request and hold no secret;
    `extra` are further keys of the body, such as OpenRouter's `provider` preferences or `session_id`.
    """

    model: str = "typesafe/jev-1.13"
    url: str = "https://openrouter.ai/api/alpha/decisions"
    api_key_env: str = "OPENROUTER_API_KEY"
    timeout_seconds: float = 5.0
    path: str | None = None
    dialect: str | WireDialect = "openrouter"
    max_connections: int = 16
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.dialect, str) and self.dialect not in DIALECTS:
            raise RouterConfigurationError(f"dialect must be one of {', '.join(DIALECTS)}")
        if not self.timeout_seconds > 0:
            raise RouterConfigurationError("timeout_seconds must be above 0")
        if self.max_connections < 1:
            raise RouterConfigurationError("max_connections must be 1 or more")
        if secret := next((name for name in self.headers if names_a_secret(name)), None):
            raise RouterConfigurationError(f"header {secret} must not be given: a key has a place of its own")
        _check_address(self.address)

    @classmethod
    def typesafe(cls, **changes: Any) -> Self:
        """TypeSafe's own API, with a pinned model."""
        defaults = {"url": "https://api.typesafe.ai", "path": "/v1/systemone", "model": "jev-1.13.0"}
        return cls(**{"dialect": "typesafe", "api_key_env": "TYPESAFE_API_KEY", **defaults, **changes})

    @property
    def address(self) -> str:
        return self.url if self.path is None else f"{self.url.rstrip('/')}/{self.path.lstrip('/')}"

    @property
    def wire(self) -> WireDialect:
        return DIALECTS[self.dialect] if isinstance(self.dialect, str) else self.dialect


_DEFAULT = OpenRouterConfig()


class OpenRouterJevProvider:
    """A decision provider over HTTP with one pool of connections, as many kept alive as there may be.

    Without `client` it makes its own, and closes them in `aclose`; a client that is given is left open. In both cases no more
    requests are on their way than `max_connections`; what is more waits, within its deadline.
    `max_retries` repeats a request after overload (429, 529), a server's error or a lost connection, after the pause that
    Retry-After asks for or a growing random one, and only while the deadline leaves time. `confidence`: `reported` takes
    the provider's number (0 where there is none); `peak` works it out from the probabilities. `hedge_after_s`: a request that
    has brought nothing for so long is sent a second time, and the first answer of the two is taken.

    `api_key` may be a function that reads the key, asked again for each choice. `allow` is a workspace's list of private
    destinations: with it, addresses are vetted and connected to themselves, and no proxy of the environment is used.

    Raises RouterConfigurationError for a key that is empty or that no header can carry.
    """

    def __init__(
        self,
        api_key: str | Callable[[], str],
        client: httpx.AsyncClient | None = None,
        config: OpenRouterConfig = _DEFAULT,
        *,
        max_retries: int = 0,
        confidence: str = "reported",
        hedge_after_s: float | None = None,
        allow: Destinations | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if confidence not in RULES:
            raise RouterConfigurationError(f"confidence must be one of {', '.join(RULES)}")
        if max_retries < 0:
            raise RouterConfigurationError("max_retries must be 0 or more")
        if hedge_after_s is not None and not hedge_after_s > 0:
            raise RouterConfigurationError("hedge_after_s must be above 0")
        self._read_key = api_key if callable(api_key) else lambda: api_key
        self._key = _key_of(self._read_key(), config)
        self._config = config
        self._given = client
        self._pools: dict[asyncio.AbstractEventLoop, Pool] = {}
        self._max_retries = max_retries
        self._confidence = confidence
        self._clock, self._sleep, self._jitter = clock, sleep, jitter
        self._url = httpx.URL(config.address)
        self._closed = False
        # A key travels in the clear within one's own network only; whoever brings a client answers for where it goes.
        pins = client is None and (allow is not None or self._url.scheme == "http")
        self._place = Place.of(config.address, allow) if pins else None
        self._hedge_after_s = hedge_after_s
        self.request_count = 0  # requests sent so far, answered or not

    @classmethod
    def from_config(
        cls, config: OpenRouterConfig = _DEFAULT, *, env: Mapping[str, str] = os.environ, **settings: Any
    ) -> Self:
        """With the key of the variable that the configuration names; RouterConfigurationError names it when it is not set."""
        return cls(_from_env(config.api_key_env, env), None, config, **settings)

    @classmethod
    def from_account(
        cls,
        account: Provider,
        client: httpx.AsyncClient | None = None,
        *,
        env: Mapping[str, str] = os.environ,
        allow: Destinations | None = None,
    ) -> Self:
        """What a registry's `providers` entry describes. Raises RouterConfigurationError."""
        config = config_of(account)
        return cls(
            lambda: _from_env(config.api_key_env, env),
            client,
            config,
            max_retries=account.max_retries,
            confidence=account.confidence,
            hedge_after_s=account.hedge_after_s,
            allow=allow,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._config.model!r}, url={self._config.address!r})"

    @property
    def model(self) -> str:
        return self._config.model

    @property
    def identity(self) -> str:
        """Equal for providers that ask the same model at the same place and read its confidence alike."""
        return f"{self._config.address} {self._config.model} {self._confidence}"

    @property
    def most_labels(self) -> int | None:
        """How many labels a choice may have, the fallback among them; None where nobody knows."""
        return self._config.wire.most_labels

    async def choose(
        self, *, state: str, instructions: str, criteria: Mapping[str, str], timeout_s: float | None = None
    ) -> ChoiceDecision:
        """The provider's choice among the labels of `criteria`; `timeout_s` stands for the configuration's where it is given.

        Raises ProviderError when there is no answer (ProviderTimeoutError: not in time), InvalidProviderResponse for an
        answer that is no decision, and ValueError, with nothing sent, for fewer than two labels.
        """
        if len(criteria) < 2:
            raise ValueError("a choice needs two labels or more")
        self._refresh_key()
        response, requests = await self._ask(
            self._content(state, instructions, criteria), timeout_s or self._config.timeout_seconds
        )
        try:
            answer = self._config.wire.read(_parsed(response.content), criteria)
            return self._decision(answer, len(criteria), response.request_id, requests)
        except InvalidProviderResponse as problem:
            problem.requests = requests
            raise

    async def aclose(self) -> None:
        """Close the connections of this event loop; nothing is asked any more. A client that was given stays open."""
        self._closed = True
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _refresh_key(self) -> None:
        value = self._read_key()
        if value.strip() != self._key.reveal():
            self._key = _key_of(value, self._config)

    def _content(self, state: str, instructions: str, criteria: Mapping[str, str]) -> bytes:
        """The body. Raises ProviderError when it holds the key, however it is written there."""
        content = written(self._config, state=state, instructions=instructions, criteria=criteria)
        if self._key.is_in(content.decode(errors="replace")):
            raise ProviderError("the request holds the provider's key and was not sent", kind="refused")
        return content

    async def _ask(self, content: bytes, timeout_s: float) -> tuple[_Response, int]:
        deadline = self._clock() + timeout_s
        tried = sent = 0
        while True:
            tried += 1
            got, times = await self._hedged(content, deadline)
            sent += times
            # Errors come back as values and are raised here, outside every handler, so that none holds on to the request.
            if isinstance(got, _Response):
                return got, sent
            pause = self._pause(got, tried)
            if tried > self._max_retries or got.kind not in _RETRIED or self._clock() + pause >= deadline:
                got.requests = sent if got.kind != "refused" else 0
                raise got
            await self._sleep(pause)

    async def _hedged(self, content: bytes, deadline: float) -> tuple[_Response | ProviderError, int]:
        """One try, or two at once where the first is slow; what came of it, and how many were sent."""
        if self._hedge_after_s is None or self._hedge_after_s >= deadline - self._clock():
            return await self._attempt(content, deadline - self._clock()), 1
        tries = {asyncio.ensure_future(self._attempt(content, deadline - self._clock()))}
        try:
            await asyncio.wait(tries, timeout=self._hedge_after_s)
            if not next(iter(tries)).done():
                tries.add(asyncio.ensure_future(self._attempt(content, deadline - self._clock())))
            return await _first_answer(tries), len(tries)
        finally:
            for one in tries:
                one.cancel()

    def _pause(self, failure: ProviderError, sent: int) -> float:
        if failure.retry_after_s is not None:
            return failure.retry_after_s
        most: float = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (sent - 1))
        return most * (1 + self._jitter()) / 2

    async def _attempt(self, content: bytes, left_s: float) -> _Response | ProviderError:
        if self._closed:
            return ProviderError("the decision provider is closed", kind="refused")
        problem: str
        try:
            async with asyncio.timeout(left_s):
                return await self._exchange(content, left_s)
        except (TimeoutError, httpx.TimeoutException):
            return ProviderTimeoutError("the decision provider did not answer in time", kind="timeout")
        except CallFailed as failed:
            self.request_count -= 1
            return ProviderError(f"nothing was sent to the decision provider: {failed}", kind="refused")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as failed:
            # Their own texts may quote a header.
            problem = type(failed).__name__
        return ProviderError(f"the decision provider cannot be reached ({problem})", kind="connection")

    async def _exchange(self, content: bytes, left_s: float) -> _Response | ProviderError:
        async with self._open().client() as client:
            return await self._send(client, content, left_s)

    async def _send(self, client: httpx.AsyncClient, content: bytes, left_s: float) -> _Response | ProviderError:
        request = client.build_request(
            "POST",
            self._url,
            content=content,
            headers=[
                *((name.encode(), value.encode()) for name, value in self._config.headers.items()),
                (b"Authorization", b"Bearer " + self._key.reveal().encode()),
                (b"Content-Type", b"application/json"),
            ],
            timeout=httpx.Timeout(max(left_s, 0.001)),
        )
        self.request_count += 1
        response = await client.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            read = await _body(response)
        finally:
            await response.aclose()
        if not response.is_success:
            return self._refusal(response, read or b"")
        return _Response(read, response.headers.get("x-request-id"))

    def _refusal(self, response: httpx.Response, body: bytes) -> ProviderError:
        status = response.status_code
        said = body[:_READ_FOR_EXCERPT].decode(errors="replace").replace("\0", "")
        told = f"the decision provider answered with status {status}"
        whole = self._key.redacted(f"{told}: {said}", most=len(told) + 2 + LONGEST_EXCERPT)
        return ProviderError(
            " ".join(whole.split()).removesuffix(":"),
            kind=_kind(status),
            status=status,
            retry_after_s=_retry_after(response.headers),
        )

    def _decision(self, answer: Answer, labels: int, request_id: str | None, requests: int) -> ChoiceDecision:
        return ChoiceDecision(
            choice=answer.choice,
            probabilities=answer.probabilities,
            confidence=confidence_of(answer, labels, self._confidence),
            confidence_source=self._confidence,
            model=self._said(answer.model),
            request_id=self._said(answer.request_id or request_id),
            usage=answer.usage,
            requests=requests,
        )

    def _said(self, text: str | None) -> str | None:
        return None if text is None else self._key.redacted(text[:1024], most=256)

    def _open(self) -> Pool:
        """The pool of the running loop: a connection belongs to the loop that opened it."""
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            alive = {known: pool for known, pool in self._pools.items() if not known.is_closed()}
            self._pools = {
                **alive,
                loop: Pool(
                    self._config.max_connections,
                    secure=self._url.scheme == "https",
                    given=self._given,
                    place=self._place,
                ),
            }
        return self._pools[loop]


@dataclass(frozen=True, slots=True)
class _Response:
    content: bytes | None  # None when it was longer than any answer is
    request_id: str | None


_PLACES: Mapping[str, tuple[str, str | None]] = {
    "openrouter": ("https://openrouter.ai", "/api/alpha/decisions"),
    "typesafe": ("https://api.typesafe.ai", "/v1/systemone"),
    "compatible": ("", None),
}


def config_of(account: Provider) -> OpenRouterConfig:
    """Where a registry's `providers` entry is and how it is spoken to. Raises RouterConfigurationError."""
    if account.kind not in DIALECTS:
        raise RouterConfigurationError(f"provider {account.name}: kind {account.kind} is not spoken over HTTP")
    url, path = _PLACES[account.kind]
    reference = account.credential or "env:OPENROUTER_API_KEY"
    if not reference.startswith("env:"):
        raise RouterConfigurationError(f"provider {account.name}: {reference} cannot be read here")
    if not (account.url or url):
        raise RouterConfigurationError(f"provider {account.name}: url is required")
    return OpenRouterConfig(
        model=account.model,
        url=account.url or url,
        path=account.path if account.path is not None else path,
        dialect=account.kind,
        api_key_env=reference.removeprefix("env:"),
        timeout_seconds=account.timeout_s,
        max_connections=account.max_connections,
    )


def written(config: OpenRouterConfig, *, state: str, instructions: str, criteria: Mapping[str, str]) -> bytes:
    """The very bytes of a request's body: the state as an object where it is one, else as it is told."""
    body = _body_text(config, _object_or_text(state), instructions, criteria)
    if body is None:  # the object holds a number that JSON has no word for
        body = _body_text(config, state, instructions, criteria) or ""
    return body.encode(errors="replace")


def _body_text(config: OpenRouterConfig, state: Any, instructions: str, criteria: Mapping[str, str]) -> str | None:
    body = config.wire.compose(model=config.model, state=state, instructions=instructions, criteria=criteria)
    try:
        return json.dumps({**body, **config.extra}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return None


async def _first_answer(tries: Iterable[asyncio.Future[_Response | ProviderError]]) -> _Response | ProviderError:
    """The first answer of several tries; where none has one, what the last of them failed of."""
    got: _Response | ProviderError | None = None
    for coming in asyncio.as_completed(tuple(tries)):
        got = await coming
        if isinstance(got, _Response):
            return got
    assert got is not None  # there was a try
    return got


def _key_of(api_key: str, config: OpenRouterConfig) -> Key:
    bare = api_key.strip() if isinstance(api_key, str) else ""
    if not bare:
        raise RouterConfigurationError("the decision provider's key is empty")
    if any(ord(letter) < 32 or ord(letter) == 127 or 0xD800 <= ord(letter) <= 0xDFFF for letter in bare):
        raise RouterConfigurationError("the decision provider's key holds characters that no header can carry")
    key = Key(bare)
    if key.is_in(config.address) or key.is_in(config.model):
        raise RouterConfigurationError("url and model must not hold the decision provider's key")
    return key


def _from_env(name: str, env: Mapping[str, str]) -> str:
    value = env.get(name, "")
    if not value.strip():
        raise RouterConfigurationError(f"the variable {name} is not set")
    return value


def _object_or_text(state: str) -> Any:
    try:
        read = json.loads(state)
    except (ValueError, RecursionError):
        return state
    return read if isinstance(read, dict) else state


def _parsed(content: bytes | None) -> Any:
    if content is None:
        raise InvalidProviderResponse("the decision provider's answer is too long")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        pass
    raise InvalidProviderResponse("the decision provider's answer is no JSON")


async def _body(response: httpx.Response) -> bytes | None:
    """What was answered; None when it is longer than any answer is."""
    read = bytearray()
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > LONGEST_ANSWER:
            return None
    return bytes(read)


def _kind(status: int) -> str:
    if status in _KINDS:
        return _KINDS[status]
    return "server" if status >= 500 else "redirect" if 300 <= status < 400 else "request"


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds; a date is counted from the date of the answer itself, so that no clock here matters."""
    given = headers.get("retry-after", "").strip()
    try:
        seconds = float(given)
    except ValueError:
        pass
    else:
        return seconds if 0 <= seconds < float("inf") else None
    try:
        until, now = parsedate_to_datetime(given), parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None
