"""`manage.py demo_traffic`: real requests through the HTTP API, with simulated outcomes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import uuid
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.core.management.base import CommandError, CommandParser

from control.demo.keys import keys_by_audience
from control.demo.requests import SHARES
from control.demo.traffic import CannotSend, Plan, Tally, Traffic
from control.environment import environment
from control.management.answer import BAD_USAGE, AnswerCommand

# Shorter than the server keeps an idle connection, so that none is used in the moment in which it is closed.
LIMITS = httpx.Limits(max_connections=80, keepalive_expiry=2)
MOST = 1e6  # of a rate, or of seconds


class Command(AnswerCommand):
    help = (
        "Send demo requests through the HTTP API of a running installation.\n\n"
        "Requests and answers are real. What is then reported as called, returned and achieved is simulated: "
        "no tool is called. Exit status: 0 sent, 1 the server is away or refuses the key, 2 bad usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--rate", type=_positive, default=5.0, help="requests a second (default 5)")
        parser.add_argument("--duration", type=_positive, help="seconds to send for (default 60)")
        parser.add_argument("--count", type=_natural, help="requests to send, instead of --duration")
        parser.add_argument("--url", help="address of the server (default: from first-run.json of the data dir)")
        parser.add_argument(
            "--key",
            help="send everything with this key (default: that of first-run.json, and demo keys made for the other scopes)",
        )
        parser.add_argument(
            "--scope", choices=list(SHARES), help="send as one audience only (contextual-routing is a workspace)"
        )
        parser.add_argument("--seed", type=int, default=1, help="decides questions and simulated outcomes (default 1)")

    def needs_installation(self, options: Mapping[str, Any]) -> bool:
        return not (options["url"] and options["key"])  # else it may send to another machine

    def handle(self, *args: Any, **options: Any) -> None:
        if options["duration"] and options["count"]:
            raise CommandError("give --duration or --count, not both", returncode=BAD_USAGE)
        plan = self._plan(options)
        try:
            tally = asyncio.run(self._run(plan))
        except CannotSend as cause:
            raise CommandError(str(cause)) from None
        self.answer(options, _facts(tally), _summary(tally))

    def _plan(self, options: dict[str, Any]) -> Plan:
        first_run = _first_run(environment.data_dir)
        url, key = options["url"] or first_run.get("url"), options["key"]
        if not url or not (key or first_run):
            raise CommandError(
                f"there is no first-run.json in {environment.data_dir}; give --url and --key, or --data-dir",
                returncode=BAD_USAGE,
            )
        audiences = [options["scope"]] if options["scope"] else list(SHARES)
        keys = (
            {options["scope"] or "default": key}
            if key
            else keys_by_audience(audiences, environment.data_dir, first_run)
        )
        return Plan(
            url=url.rstrip("/"),
            keys=keys,
            rate=options["rate"],
            duration_s=options["duration"] or 60.0,
            count=options["count"],
            seed=options["seed"],
            run=uuid.uuid4().hex[:8],
        )

    async def _run(self, plan: Plan) -> Tally:
        # A proxy of the surroundings cannot reach this machine's own addresses.
        async with httpx.AsyncClient(timeout=35.0, trust_env=not _is_near(plan.url), limits=LIMITS) as client:
            traffic = Traffic(plan, client, say=self._say)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, traffic.stopping.set)
            self._say(f"Sending to {plan.url} as {', '.join(plan.keys)}; outcomes are simulated. Ctrl-C stops.")
            return await traffic.run()

    def _say(self, line: str) -> None:
        # Progress goes beside the result, so that --json stays one object.
        self.stderr.write(line, style_func=str)
        self.stderr.flush()


def _positive(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (value := float(text)) <= MOST:
            return value
    raise ArgumentTypeError(f"must be a number above 0 and at most {MOST:,.0f}")


def _natural(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError("must be a whole number above 0")


def _is_near(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def _first_run(data_dir: Path) -> dict[str, str]:
    try:
        return dict(json.loads((data_dir / "first-run.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def _facts(tally: Tally) -> dict[str, Any]:
    return {
        "sent": tally.sent,
        "answers": dict(tally.answers),
        "reported": dict(tally.reports),
        "problems": {name: count for name, count in tally.problems.items() if count},
        "latency_ms": {"p50": tally.percentile(0.5), "p99": tally.percentile(0.99)},
        "outcomes": "simulated",
    }


def _summary(tally: Tally) -> str:
    facts = _facts(tally)
    latency = facts["latency_ms"]
    rows = [
        ("sent", str(tally.sent)),
        ("answers", _listed(facts["answers"])),
        ("reported", _listed(facts["reported"]) + "  (simulated)"),
        ("latency", f"p50 {latency['p50']} ms, p99 {latency['p99']} ms"),
        *([("problems", _listed(facts["problems"]))] if facts["problems"] else []),
    ]
    return "\n".join(f"{name:<10}{text}" for name, text in rows)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(counts.items())) or "nothing"
