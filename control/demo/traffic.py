"""Sends demo requests through the real HTTP API and reports simulated outcomes for them."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import httpx

from control.demo.outcomes import simulate
from control.demo.requests import Request, requests

REPORT_EVERY_S = 0.25
REPORT_BATCH = 500
MOST_IN_FLIGHT = 64
GIVE_UP_AFTER = 20  # calls in a row without any answer
KEY_IS_KNOWN_WITHIN_S = 5.0


class CannotSend(Exception):
    """Why there is no traffic, as one sentence for the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    url: str
    keys: Mapping[str, str]  # audience → key
    rate: float
    duration_s: float | None
    count: int | None
    seed: int
    run: str  # sets the event ids of this run apart from those of others


@dataclass(slots=True)
class Tally:
    """What has been answered and reported so far."""

    answers: Counter[str] = field(default_factory=Counter)
    reports: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    latencies_ms: list[float] = field(default_factory=list)
    sent: int = 0

    def percentile(self, share: float) -> float | None:
        ordered = sorted(self.latencies_ms)
        return round(ordered[min(int(len(ordered) * share), len(ordered) - 1)], 1) if ordered else None


class Traffic:
    """One run: a sender at a steady rate, a reporter of outcomes that fall due, and a line of progress a second."""

    def __init__(self, plan: Plan, client: httpx.AsyncClient, say: Callable[[str], None]) -> None:
        self.plan, self.client, self.say = plan, client, say
        self.tally = Tally()
        self.stopping = asyncio.Event()
        self.cause: CannotSend | None = None
        self._due: list[tuple[float, int, str, Mapping[str, Any]]] = []
        self._entries = 0
        self._unanswered = 0
        self._started = time.monotonic()

    async def run(self) -> Tally:
        """Sends until the plan is done or `stopping` is set; then reports what is still due. Raises CannotSend."""
        await self._greet()
        self._started = time.monotonic()
        background = [asyncio.create_task(self._report()), asyncio.create_task(self._tell())]
        try:
            await self._send()
            await self._drain()
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
        if self.cause is not None:
            raise self.cause
        return self.tally

    async def _greet(self) -> None:
        """Waits until the server answers every key; a key made a moment ago needs a blink to be known everywhere."""
        for audience, key in self.plan.keys.items():
            until = time.monotonic() + KEY_IS_KNOWN_WITHIN_S
            while (status := await self._knock(key)) == 401 and time.monotonic() < until:
                await asyncio.sleep(0.2)
            if status != 200:
                raise CannotSend(f"{self.plan.url} answers {status} to the key of {audience}")

    async def _knock(self, key: str) -> int:
        try:
            answer = await self._post("/api/v1/tools/search", {"query": "", "max_hits": 1}, key)
        except httpx.TransportError as problem:
            raise CannotSend(self._away(problem)) from problem
        return answer.status_code

    def _away(self, problem: httpx.TransportError) -> str:
        return f"no answer from {self.plan.url} ({type(problem).__name__}); is it running? `python3 manage.py up` starts it"

    async def _post(self, path: str, body: Any, key: str) -> httpx.Response:
        return await self.client.post(self.plan.url + path, json=body, headers={"Authorization": f"Bearer {key}"})

    async def _send(self) -> None:
        in_flight: set[asyncio.Task[None]] = set()
        for request in self._planned():
            if not await self._until(self._started + request.number / self.plan.rate):
                break
            if len(in_flight) >= MOST_IN_FLIGHT:
                self.tally.problems["held back"] += 1
                continue
            task = asyncio.create_task(self._ask(request))
            in_flight.add(task)
            task.add_done_callback(in_flight.discard)
        await asyncio.gather(*in_flight)

    def _planned(self) -> Iterator[Request]:
        limit = self.plan.count
        if limit is None:
            limit = max(1, round(self.plan.rate * (self.plan.duration_s or 0)))
        return islice(requests(list(self.plan.keys), seed=self.plan.seed), limit)

    async def _until(self, moment: float) -> bool:
        """Sleeps until then; False when the run is to stop."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), max(0.0, moment - time.monotonic()))
        return not self.stopping.is_set()

    async def _ask(self, request: Request) -> None:
        started = time.perf_counter()
        self.tally.sent += 1
        try:
            response = await self._post(request.path, request.body, self.plan.keys[request.audience])
        except httpx.TransportError as problem:
            self._not_answered(problem)
            return
        self._unanswered = 0
        self.tally.latencies_ms.append((time.perf_counter() - started) * 1000)
        self._take(request, response)

    def _not_answered(self, problem: httpx.TransportError) -> None:
        self.tally.problems["no answer"] += 1
        self._unanswered += 1
        if self._unanswered >= GIVE_UP_AFTER and self.cause is None:
            self.cause = CannotSend(self._away(problem))
            self.stopping.set()

    def _take(self, request: Request, response: httpx.Response) -> None:
        if response.status_code == 202:
            self.tally.answers["waiting"] += 1
        elif response.status_code != 200:
            self.tally.problems[f"HTTP {response.status_code}"] += 1
        elif "decision_id" in (answer := response.json()):
            self.tally.answers[_status(answer)] += 1
            self._plan_reports(request, answer)

    def _plan_reports(self, request: Request, answer: Mapping[str, Any]) -> None:
        now, moment = datetime.now(UTC), time.monotonic()
        for report in simulate(answer, prefix=f"demo-{self.plan.run}-{request.number}", dice=request.dice):
            self._entries += 1
            # Reports are sent together with others; each says itself when its fact is meant to have happened.
            happened = (now + timedelta(seconds=report.after_s)).isoformat()
            event = {**report.event, "at": happened}
            heapq.heappush(self._due, (moment + report.after_s, self._entries, request.audience, event))

    async def _report(self) -> None:
        while True:
            await self._report_due(time.monotonic())
            await asyncio.sleep(REPORT_EVERY_S)

    async def _report_due(self, now: float) -> None:
        batches: dict[str, list[Mapping[str, Any]]] = {}
        while self._due and self._due[0][0] <= now and sum(map(len, batches.values())) < REPORT_BATCH:
            _, _, audience, event = heapq.heappop(self._due)
            batches.setdefault(audience, []).append(event)
        for audience, events in batches.items():
            await self._report_batch(events, self.plan.keys[audience])

    async def _report_batch(self, events: list[Mapping[str, Any]], key: str) -> None:
        try:
            response = await self._post("/api/v1/events", {"events": events}, key)
        except httpx.TransportError:
            self.tally.problems["events not reported"] += len(events)
            return
        if response.status_code != 200:
            self.tally.problems[f"events: HTTP {response.status_code}"] += len(events)
            return
        rejected = {entry["index"] for entry in response.json()["rejected"]}
        self.tally.problems["events rejected"] += len(rejected)
        self.tally.reports.update(_fact(event) for index, event in enumerate(events) if index not in rejected)

    async def _drain(self) -> None:
        """Reports what is still due; after a stop only what is due by now."""
        while self._due and not self.stopping.is_set():
            await asyncio.sleep(0.05)
        await self._report_due(time.monotonic())
        if self._due:
            self.tally.problems["outcomes left unreported"] += len(self._due)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.say(progress(self.tally, time.monotonic() - self._started))


def _status(answer: Mapping[str, Any]) -> str:
    if "status" in answer:
        return str(answer["status"])
    return "fallback" if answer["fallback"] else "selected"


def _fact(event: Mapping[str, Any]) -> str:
    return "invoked" if event["kind"] == "invocation" else f"{event['kind'].removesuffix('_outcome')} {event['status']}"


def progress(tally: Tally, elapsed_s: float) -> str:
    """One line: how far the run is."""
    answers, reports = tally.answers, tally.reports
    parts = [
        f"{elapsed_s:4.0f} s",
        f"sent {tally.sent}",
        f"confident {answers['confident']} · ambiguous {answers['ambiguous']} · no match {answers['no_match']}",
        f"routed {answers['selected']} · fallback {answers['fallback']}",
        f"invoked {reports['invoked']} · returned {reports['transport ok']} · achieved {reports['domain success']}",
    ]
    problems = sum(tally.problems.values())
    return "   ".join([*parts, *([f"problems {problems}"] if problems else [])])
