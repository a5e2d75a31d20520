"""How an id reaches the workers. The tasks say how, so that a service can send without knowing them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from routing import bus

logger = logging.getLogger(__name__)


class Dispatch:
    """The way of one kind of work to its workers; `what` names the work in the log."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._send: Callable[..., None] | None = None

    def through(self, send: Callable[..., None]) -> None:
        self._send = send

    def send(self, *ids: str) -> bool:
        """False when no worker will hear of it now. Raises nothing: whatever was asked for is kept as a row."""
        if self._send is None:
            return True
        try:
            bus.ping()  # the transport of tasks has more patience with a bus that is away than whoever waits for an answer
            self._send(*ids)
        except Exception as error:  # whatever the transport raises
            logger.warning("%s %s reached no worker: %s", self._what, ids[0], type(error).__name__)
            return False
        return True
