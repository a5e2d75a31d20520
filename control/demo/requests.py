"""Which requests the demo traffic sends, in which order: decided by a seed alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

HERE = Path(__file__).parent
# How much of the traffic each audience gets, when all of them are open to us.
SHARES = {"default": 40, "ci-agents": 27, "research": 13, "support-desk": 10, "contextual-routing": 10}
ROUTE_SHARE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of the API, and the dice that decide what is then said to have happened."""

    number: int
    audience: str
    path: str
    body: Mapping[str, Any]
    dice: Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The texts of one audience: queries to resolve, and bodies to route."""

    resolve: Sequence[str]
    route: Sequence[Mapping[str, Any]]


def read_questions() -> dict[str, Questions]:
    """All questions by audience; the published ones belong to `default`."""
    content = yaml.safe_load((HERE / "requests.yaml").read_text(encoding="utf-8"))
    published = [json.loads(line)["query"] for line in _lines("published_queries.jsonl")]
    resolve = {**content["resolve"], "default": content["resolve"]["default"] + published}
    return {name: Questions(resolve=queries, route=content["route"].get(name, [])) for name, queries in resolve.items()}


def requests(audiences: Sequence[str], *, seed: int) -> Iterator[Request]:
    """Endless requests of these audiences. The same audiences and seed give the same requests."""
    questions = read_questions()
    weights = [SHARES[audience] for audience in audiences]
    number = 0
    while True:
        # Dice of its own for every request: what happens to one does not depend on how fast another was answered.
        dice = Random(f"{seed}/{number}")
        audience = dice.choices(audiences, weights)[0]
        path, body = _call(questions[audience], dice)
        yield Request(number=number, audience=audience, path=path, body=body, dice=dice)
        number += 1


def _call(questions: Questions, dice: Random) -> tuple[str, Mapping[str, Any]]:
    if questions.route and dice.random() < ROUTE_SHARE:
        return "/api/v1/route", dice.choice(questions.route)
    return "/api/v1/resolve", {"query": dice.choice(questions.resolve)}


def _lines(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").splitlines()
