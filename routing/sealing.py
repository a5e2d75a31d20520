"""Texts at rest are sealed; digests of texts are keyed. The keys never leave the process."""

from __future__ import annotations

import hashlib
import hmac
from functools import cache
from typing import Any

import orjson
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unsealable(Exception):
    """A sealed text was made with a key that this installation no longer has."""


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(value: Any) -> bytes:
    """A JSON value, encrypted with the newest key."""
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(orjson.dumps(value))


def unseal(token: bytes | memoryview) -> Any:
    try:
        return orjson.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(bytes(token)))
    except InvalidToken:
        raise Unsealable from None


def keyed_digest(purpose: str, text: str) -> str:
    """SHA-256 under the installation's secret (HMAC): equal texts meet, and nobody can guess back. 64 hex digits."""
    digest = _keyed(purpose, settings.SECRET_KEY).copy()
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def key_for(purpose: str) -> bytes:
    """A key of the installation for one purpose, for digests that are made elsewhere."""
    return _key(purpose, settings.SECRET_KEY)


def _key(purpose: str, secret: str) -> bytes:
    return hashlib.sha256(f"switchyard:{purpose}:{secret}".encode()).digest()


@cache
def _keyed(purpose: str, secret: str) -> hmac.HMAC:
    return hmac.new(_key(purpose, secret), digestmod=hashlib.sha256)
