"""A scripted agent loop, with and without the router: steps, calls of the planner, wrong calls, and time.

python bench/harness_loop.py [--scale 100] [--json]

Three fixed tasks of 8, 12 and 16 steps over eleven tools. The environment is a script: at each step one tool is right and
leads on; any other brings nothing and is tried again. The planner is a script as well: it chooses rightly but for one step
in each task, where its first choice is a fixed wrong one. Every arm runs the same tasks in the same process:

    planner         every step is one planning call, which chooses the tool and writes its arguments
    local           the router asks the local provider; what it selects needs arguments only, the rest is planned
    service         the router asks a decision service, scripted: right with the confidence that is written beside the
                    step (a fork it is unsure of is handed to the planner), once confidently wrong in each task

What a call takes is slept, divided by --scale: 3,842 ms for a choice of the planner and 404 ms for one of a decision
service (published means, docs/benchmarks.md), and 1,500 ms for arguments, which is an assumption that all arms share. The
router's own time is real and not scaled, so a greater --scale makes the router look worse than it is, never better.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    JevToolRouter,
    RouteDecision,
    RoutingConfig,
    RoutingSession,
    ToolDescriptor,
    judge_choice,
    normalize_tools,
)
from routing.providers.local import LocalProvider

CHOICE_S, SERVICE_S, ARGUMENTS_S = 3.842, 0.404, 1.5
CHOICE_TOKENS, ARGUMENTS_TOKENS = 900, 250  # of the planner: the list of tools and the history weigh most
MOST_CALLS = 60

TOOLS = normalize_tools(
    [
        {"name": "list_files", "description": "List the files of a directory"},
        {"name": "search_code", "description": "Search the source code for a symbol or text"},
        {"name": "read_file", "description": "Read a file of the repository by path"},
        {"name": "edit_file", "description": "Edit a file: replace a passage with new content"},
        {"name": "run_tests", "description": "Run the test suite and report failures"},
        {"name": "lint", "description": "Check style and types of the code"},
        {"name": "git_diff", "description": "Show the uncommitted changes"},
        {"name": "git_commit", "description": "Commit the changes with a message"},
        {"name": "fetch_url", "description": "Fetch the text of a web page"},
        {"name": "query_database", "description": "Run a read-only SQL query against the database"},
        {"name": "finish", "description": "Finish the task and report to the user", "risk": "low"},
    ]
)


@dataclass(frozen=True, slots=True)
class Step:
    seen: str  # the observation before this step
    right: str
    sure: float  # confidence of the scripted service
    planner_errs: str | None = None  # its first choice, where that is wrong
    service_errs: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    goal: str
    steps: tuple[Step, ...]


TASKS = (
    Task(
        "Fix the failing parser test",
        (
            Step("Nothing was looked at yet; run the tests to see which fail", "run_tests", 0.93),
            Step("test_parser fails; the traceback names src/parser.py", "read_file", 0.95),
            Step("parse_date is called here, but where it is defined is unknown", "search_code", 0.72, "read_file"),
            Step("parse_date is defined in src/dates.py, line 40", "read_file", 0.94),
            Step("The month and the day are swapped in line 44", "edit_file", 0.91),
            Step("src/dates.py was edited", "run_tests", 0.92, service_errs="lint"),
            Step("All tests pass; the changes are not committed", "git_commit", 0.88),
            Step("The commit is made, nothing is left to do", "finish", 0.97),
        ),
    ),
    Task(
        "Find out why orders of last week have no invoice, and correct the code",
        (
            Step("The orders are in the database; no rows were looked at", "query_database", 0.94),
            Step("Orders without invoice all have the currency CHF", "search_code", 0.66, "query_database"),
            Step("The currency is handled in src/billing/currency.py", "read_file", 0.95),
            Step("CHF is missing from the table of currencies", "search_code", 0.58),
            Step("A second table stands in src/billing/tables.py", "read_file", 0.94),
            Step("The rates come from a public page of the bank, its URL is in a comment", "fetch_url", 0.9),
            Step("The page tells the rate and the rounding of CHF", "edit_file", 0.87, service_errs="read_file"),
            Step("src/billing/tables.py was edited", "lint", 0.7),
            Step("Style and types are in order", "run_tests", 0.92),
            Step("Two tests fail with an unexpected rounding", "edit_file", 0.86),
            Step("The rounding was edited", "run_tests", 0.93),
            Step("All tests pass, the task is done", "finish", 0.62),
        ),
    ),
    Task(
        "Add a retry limit to the HTTP client of the importer",
        (
            Step("The layout of the repository is unknown", "list_files", 0.89),
            Step("There are src/importer and src/common; which of them has the client is unknown", "search_code", 0.9),
            Step("The client is in src/common/http.py", "read_file", 0.95),
            Step("Retries use a package; its documentation is on the web", "fetch_url", 0.78, "search_code"),
            Step("The package takes a parameter named total", "search_code", 0.61),
            Step("The client is made in src/importer/run.py", "read_file", 0.94),
            Step("The call of the client has no limit", "edit_file", 0.9),
            Step("src/importer/run.py was edited", "run_tests", 0.91),
            Step("test_importer fails: unexpected argument total", "read_file", 0.68, service_errs="edit_file"),
            Step("The test makes the client with positional arguments", "edit_file", 0.88),
            Step("The test was edited", "run_tests", 0.93),
            Step("All tests pass; types are not checked", "lint", 0.92),
            Step("lint reports an unused import in src/importer/run.py", "edit_file", 0.9),
            Step("The import was removed; what has changed in all is unclear", "git_diff", 0.86),
            Step("The changes are as meant and can be committed", "git_commit", 0.93),
            Step("The commit is made, nothing is left to do", "finish", 0.97),
        ),
    ),
)


@dataclass(slots=True)
class Tally:
    """What a run took. `planned` are full planning calls, `arguments` calls that only wrote arguments."""

    steps: int = 0
    planned: int = 0
    arguments: int = 0
    routed: int = 0  # selected by the router
    wrong: int = 0
    tokens: int = 0
    router_ms: float = 0.0
    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)


class Service:
    """A decision service by script, as the router asks it."""

    def __init__(self, scale: float) -> None:
        self._wait_s = SERVICE_S / scale
        self.step: Step | None = None
        self.errs = False

    async def choose(self, *, state: str, instructions: str, criteria: Mapping[str, str]) -> ChoiceDecision:
        assert self.step is not None
        await asyncio.sleep(self._wait_s)
        wrong = self.step.service_errs if self.errs else None
        choice = wrong or self.step.right
        sure = 0.88 if wrong else self.step.sure
        rest = (1 - sure) / (len(criteria) - 1)
        return ChoiceDecision(choice, {label: sure if label == choice else rest for label in criteria}, sure)


class Local:
    """The local provider under the decision table, as a session asks a router."""

    def __init__(self, config: RoutingConfig) -> None:
        self._config = config
        self._provider = LocalProvider()

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        return judge_choice(self._provider.choose(state, tools), self._config, tools)


async def run(task: Task, arm: str, scale: float) -> Tally:
    """One task to its end. Raises RuntimeError when it does not end."""
    tally, state = Tally(), HarnessState(task.goal)
    config = RoutingConfig(route_cache_size=0)
    service = Service(scale)
    session = RoutingSession(Local(config) if arm == "local" else JevToolRouter(service, config), config)
    started = time.perf_counter()
    for step in task.steps:
        tried = 0
        while True:
            if tally.steps >= MOST_CALLS:
                raise RuntimeError(f"{task.goal!r} does not end ({arm})")
            state.observation = step.seen if not tried else f"{step.seen}. The last call brought nothing new"
            service.step, service.errs = step, tried == 0
            tool = None
            if arm != "planner" and not tried:  # after a wrong call nobody leaves it to the router again
                tool = await _routed(session, state, tally)
            if tool is None:
                tool = await _planned(step, tally, scale, first=not tried)
                session.reset_fallbacks()
            tally.steps += 1
            state.last_action = tool
            state.recent_actions.append(ActionSummary(tool, "ok" if tool == step.right else "nothing new"))
            if tool == step.right:
                break
            tally.wrong += 1
            tried += 1
    tally.seconds = time.perf_counter() - started
    return tally


async def _routed(session: RoutingSession, state: HarnessState, tally: Tally) -> str | None:
    begun = time.perf_counter()
    decision = await session.route(state, TOOLS)
    tally.router_ms += (time.perf_counter() - begun) * 1000
    if decision.tool is None:
        reason = str(decision.fallback_reason)
        tally.reasons[reason] = tally.reasons.get(reason, 0) + 1
        return None
    tally.routed += 1
    return decision.tool


async def _planned(step: Step, tally: Tally, scale: float, *, first: bool) -> str:
    """The planner chooses and writes arguments in one call."""
    tally.planned += 1
    tally.tokens += CHOICE_TOKENS + ARGUMENTS_TOKENS
    await asyncio.sleep((CHOICE_S + ARGUMENTS_S) / scale)
    return step.planner_errs if first and step.planner_errs else step.right


async def _run_arm(arm: str, scale: float) -> Tally:
    whole = Tally()
    for task in TASKS:
        one = await run(task, arm, scale)
        # A selected tool still needs its arguments: one short call of the planner for each.
        one.arguments = one.routed
        one.tokens += one.routed * ARGUMENTS_TOKENS
        begun = time.perf_counter()
        for _ in range(one.routed):
            await asyncio.sleep(ARGUMENTS_S / scale)
        one.seconds += time.perf_counter() - begun
        for name in ("steps", "planned", "arguments", "routed", "wrong", "tokens", "router_ms", "seconds"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        for reason, count in one.reasons.items():
            whole.reasons[reason] = whole.reasons.get(reason, 0) + count
    return whole


async def measure(scale: float) -> dict[str, Tally]:
    await run(TASKS[0], "local", 1e6)  # the local provider's tables are read once in a process
    return {arm: await _run_arm(arm, scale) for arm in ("planner", "local", "service")}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--scale", type=float, default=100.0, help="how many times faster than life (default: 100)")
    asked.add_argument("--json", action="store_true", help="print one line of JSON")
    given = asked.parse_args()
    found = asyncio.run(measure(given.scale))
    base = found["planner"]
    rows = {
        arm: {
            "steps": tally.steps,
            "planner_calls": tally.planned,
            "argument_calls": tally.arguments,
            "wrong_calls": tally.wrong,
            "planner_tokens": tally.tokens,
            "token_ratio": round(tally.tokens / base.tokens, 3),
            "seconds": round(tally.seconds, 3),
            "time_ratio": round(tally.seconds / base.seconds, 3),
            "router_ms_per_step": round(tally.router_ms / max(tally.routed + sum(tally.reasons.values()), 1), 2),
            "handed_over": tally.reasons,
        }
        for arm, tally in found.items()
    }
    if given.json:
        print(json.dumps({"scale": given.scale, "arms": rows}))
        return
    print(f"{sum(len(task.steps) for task in TASKS)} steps in {len(TASKS)} tasks; times divided by {given.scale:g}")
    for arm, row in rows.items():
        print(f"\n{arm}")
        for name, value in row.items():
            print(f"  {name:<20}{value}")


if __name__ == "__main__":
    main()
