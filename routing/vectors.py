"""The deep tier's memory in a process: for each workspace its encoder, and the vectors of its live catalog once they are all there.

Nothing is encoded here: a worker does that in the background (`services.meaning`) and counts a change when it is done, so
that every process comes and reads.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.conf import settings

from routing import snapshot
from routing.engine.encoder import Row, TextVectors, texts_of
from routing.generation import Watched
from routing.models import TextVector
from routing.providers.addresses import Destinations
from routing.providers.encoders.base import EncoderError, TextEncoder
from routing.providers.encoders.local import LocalEncoder, is_usable
from routing.providers.encoders.remote import RemoteEncoder, find_endpoint
from routing.snapshot import Live

logger = logging.getLogger(__name__)
CHUNK = 500  # keys that one question to the database names


@dataclass(frozen=True, slots=True, kw_only=True)
class Deep:
    """A workspace's deep tier."""

    revision: int
    digest: str  # of the revision whose catalog the vectors are of
    allow_private: tuple[str, ...]  # what the encoder may reach besides public addresses
    encoder: TextEncoder
    data_zone: str | None  # where the texts would be read; None: in this installation
    is_local: bool
    vectors: TextVectors | None
    missing: int  # texts without a vector


Found = Mapping[tuple[Any, str], Deep]  # by workspace id and digest; what has no encoder is not there


def of(live: Live) -> Deep | None:
    """The deep tier for this very catalog, whether its vectors are there or not."""
    return _deep.get().get((live.workspace_id, live.digest))


def every() -> Found:
    return _deep.get()


def key(encoder: TextEncoder, text: str) -> str:
    return hashlib.sha256(f"{encoder.identity}\n{text}".encode(errors="replace")).hexdigest()


def texts(live: Live) -> list[str]:
    """What is to be encoded of a catalog, each text once."""
    return list(dict.fromkeys(text for doc in live.catalog.index.docs for text in texts_of(doc)))


def known(keys: Sequence[str]) -> set[str]:
    found = (TextVector.objects.filter(pk__in=chunk).values_list("key", flat=True) for chunk in _chunks(keys))
    return {one for chunk in found for one in chunk}


def _load(previous: Found | None) -> Found:
    before = previous or {}
    keyed = (((live.workspace_id, live.digest), live) for live in snapshot.each())
    made = ((key, _deep_of(live, before.get(key))) for key, live in keyed)
    return {key: deep for key, deep in made if deep is not None}


def _deep_of(live: Live, before: Deep | None) -> Deep | None:
    endpoint = find_endpoint(live.catalog.registry)
    try:
        if endpoint is not None:
            encoder: TextEncoder = RemoteEncoder(endpoint, Destinations.of(live.allow_private))
        elif is_usable(settings.ENCODER_DIR):
            encoder = LocalEncoder(settings.ENCODER_DIR)
        else:
            return None
    except EncoderError as problem:
        logger.warning("workspace %s has no deep tier: %s", live.workspace, problem)
        return None
    if before is not None and _is_same(before, live, encoder):
        if before.vectors is not None:
            return before
        encoder = before.encoder  # what it has opened stays open
    vectors, missing = _vectors(live, encoder)
    return Deep(
        revision=live.revision,
        digest=live.digest,
        allow_private=live.allow_private,
        encoder=encoder,
        data_zone=endpoint.data_zone if endpoint else None,
        is_local=endpoint is None,
        vectors=vectors,
        missing=missing,
    )


def _is_same(before: Deep, live: Live, encoder: TextEncoder) -> bool:
    was = (before.encoder.identity, before.digest, before.allow_private)
    return was == (encoder.identity, live.digest, live.allow_private)


def _vectors(live: Live, encoder: TextEncoder) -> tuple[TextVectors | None, int]:
    wanted = {key(encoder, text): text for text in texts(live)}
    rows: dict[str, Row] = {}
    for chunk in _chunks(list(wanted)):
        for row in TextVector.objects.filter(pk__in=chunk):
            rows[wanted[row.key]] = Row(np.frombuffer(bytes(row.values), np.int8), row.scale)
    missing = len(wanted) - len(rows)
    if missing:
        return None, missing
    if len({len(row.values) for row in rows.values()}) > 1:
        logger.warning("workspace %s has no deep tier: its encoder made vectors of several sizes", live.workspace)
        return None, 0
    logger.info("workspace %s: the deep tier has all %s vectors", live.workspace, len(rows))
    return TextVectors(live.catalog.index.docs, rows), 0


def _chunks(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    return (keys[first : first + CHUNK] for first in range(0, len(keys), CHUNK))


_deep: Watched[Found] = Watched(_load, takes_long=True)
