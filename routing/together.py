"""What an event loop asks of the database, done by one thread and many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from django.db import connection

Asked = TypeVar("Asked")
Told = TypeVar("Told")
_PATIENCE_S = 2.0  # with a database that does not answer, at the end of the process


class Together(Generic[Asked, Told]):
    """Work for which one thread is enough: what is asked for while it works is done with its next round.

    `work` is given what was asked for, in that order, and returns an answer for each, or the exception to raise. A request
    of its own thread would have to open the database for it, which takes longer than the work, and under load as many
    threads would wait for one lock.
    """

    def __init__(self, name: str, work: Callable[[Sequence[Asked]], Sequence[Told | Exception]]) -> None:
        self._name, self._work = name, work
        self._waiting: list[tuple[Asked, asyncio.Future[Told]]] = []
        self._working = False
        self._thread: ThreadPoolExecutor | None = None

    async def ask(self, asked: Asked) -> Told:
        answer: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, answer))
        if not self._working:
            self._begin()
        return await answer

    def _begin(self) -> None:
        batch, self._waiting = self._waiting, []
        self._working = bool(batch)
        if not batch:
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._thread, self._round, [asked for asked, _ in batch])
        done.add_done_callback(lambda done: self._end([answer for _, answer in batch], done))

    def _end(self, answers: Sequence[asyncio.Future[Told]], done: asyncio.Future[Sequence[Told | Exception]]) -> None:
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        told: Sequence[Told | BaseException] = [error] * len(answers) if error else done.result()
        for answer, one in zip(answers, told, strict=True):
            if answer.done():  # whoever asked is gone
                continue
            if isinstance(one, BaseException):
                answer.set_exception(one)
            else:
                answer.set_result(one)
        self._begin()

    def _round(self, asked: Sequence[Asked]) -> Sequence[Told | Exception]:
        try:
            return self._work(asked)
        finally:
            # A server's connection goes back to its pool, which looks whether it still works.
            if connection.vendor != "sqlite" or connection.errors_occurred:
                connection.close()

    async def close(self) -> None:
        """Let go of the thread and its connection, at the end of the process."""
        thread, self._thread = self._thread, None
        if thread is not None:
            closed = thread.submit(lambda: connection.close())  # that of the thread
            await asyncio.wait([asyncio.wrap_future(closed)], timeout=_PATIENCE_S)
            thread.shutdown(wait=False)
