"""Steps, and the circuit that opens when nothing fits any more."""

from __future__ import annotations

import asyncio
import json

import pytest

from routing.engine import HarnessState, ProviderError, RouteDecision, RoutingConfig, RoutingSession, ToolDescriptor
from routing.engine.session import SessionState, admit, circuit_of, settle

TOOLS = [ToolDescriptor("read_file", "Read a file")]
STATE = HarnessState("look")
NOTHING = RouteDecision(fallback=True, fallback_reason="no_matching_tool")
SELECTED = RouteDecision(tool="read_file", confidence=0.9)


class Answers:
    """A router that answers, or raises, what it is given, the last for ever."""

    def __init__(self, *answers: RouteDecision | Exception) -> None:
        self.answers = list(answers)
        self.calls = 0

    async def route(self, state, tools):
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def reasons(session: RoutingSession, count: int) -> list[str | None]:
    return [(await session.route(STATE, TOOLS)).fallback_reason for _ in range(count)]


@pytest.mark.asyncio
async def test_two_fallbacks_in_a_row_open_the_circuit_for_good():
    router = Answers(NOTHING)
    session = RoutingSession(router)

    assert await reasons(session, 4) == ["no_matching_tool"] * 2 + ["fallback_circuit_open"] * 2
    assert (session.steps, router.calls, session.circuit) == (2, 2, "open")


@pytest.mark.asyncio
async def test_a_selection_starts_the_count_again():
    session = RoutingSession(Answers(NOTHING, SELECTED, NOTHING, SELECTED))

    assert await reasons(session, 4) == ["no_matching_tool", None, "no_matching_tool", None]
    assert session.circuit == "closed"


@pytest.mark.asyncio
async def test_a_refusal_says_that_the_session_gave_it_and_costs_no_step():
    session = RoutingSession(Answers(SELECTED), RoutingConfig(max_route_steps=1))
    await session.route(STATE, TOOLS)

    refused = await session.route(STATE, TOOLS)

    assert (refused.fallback_reason, refused.source, refused.tool) == ("max_route_steps", "session", None)
    assert session.steps == 1


@pytest.mark.asyncio
async def test_the_step_limit_is_named_before_the_circuit():
    session = RoutingSession(Answers(NOTHING), RoutingConfig(max_route_steps=2, max_consecutive_fallbacks=2))

    assert (await reasons(session, 3))[-1] == "max_route_steps"


@pytest.mark.asyncio
async def test_a_reset_closes_the_circuit_and_gives_no_step_back():
    session = RoutingSession(Answers(NOTHING))
    await reasons(session, 3)

    session.reset_fallbacks()

    assert (session.circuit, session.consecutive_fallbacks, session.steps) == ("closed", 0, 2)
    assert await reasons(session, 1) == ["no_matching_tool"]


@pytest.mark.asyncio
async def test_an_error_spends_a_step_and_counts_as_no_fallback():
    session = RoutingSession(Answers(NOTHING, ProviderError("x"), SELECTED))
    await session.route(STATE, TOOLS)

    with pytest.raises(ProviderError):
        await session.route(STATE, TOOLS)

    assert (session.steps, session.consecutive_fallbacks) == (2, 1)


def half_open(*answers: RouteDecision | Exception) -> tuple[RoutingSession, Answers, Clock]:
    router, clock = Answers(*answers), Clock()
    config = RoutingConfig(max_consecutive_fallbacks=1, circuit_half_open_seconds=10)
    return RoutingSession(router, config, clock=clock), router, clock


@pytest.mark.asyncio
async def test_a_half_open_circuit_lets_one_route_pass_that_closes_it():
    session, _, clock = half_open(NOTHING, SELECTED)
    assert await reasons(session, 2) == ["no_matching_tool", "fallback_circuit_open"]
    clock.now += 9.9
    assert session.circuit == "open"
    clock.now += 0.1
    assert session.circuit == "half_open"

    assert await reasons(session, 2) == [None, None]
    assert session.circuit == "closed"


@pytest.mark.asyncio
async def test_a_half_open_circuit_that_meets_a_fallback_waits_again():
    session, router, clock = half_open(NOTHING)
    await reasons(session, 1)
    clock.now += 10

    assert await reasons(session, 2) == ["no_matching_tool", "fallback_circuit_open"]
    clock.now += 10
    assert await reasons(session, 1) == ["no_matching_tool"]
    assert router.calls == 3


@pytest.mark.asyncio
async def test_a_half_open_circuit_that_meets_an_error_waits_again():
    session, _, clock = half_open(NOTHING, ProviderError("x"), SELECTED)
    await reasons(session, 1)
    clock.now += 10

    with pytest.raises(ProviderError):
        await session.route(STATE, TOOLS)

    assert session.circuit == "open"


@pytest.mark.asyncio
async def test_while_one_route_tries_a_half_open_circuit_the_others_are_refused():
    entered, release = asyncio.Event(), asyncio.Event()

    class Slow:
        async def route(self, state, tools):
            entered.set()
            await release.wait()
            return SELECTED

    config = RoutingConfig(max_consecutive_fallbacks=1, circuit_half_open_seconds=10)
    clock = Clock()
    opened = {"steps": 1, "consecutive_fallbacks": 1, "opened_at": 90.0}
    session = RoutingSession.from_state(opened, Slow(), config, clock=clock)

    probe = asyncio.create_task(session.route(STATE, TOOLS))
    await entered.wait()
    refused = await session.route(STATE, TOOLS)
    release.set()

    assert refused.fallback_reason == "fallback_circuit_open"
    assert (await probe).tool == "read_file"
    assert session.circuit == "closed"


def test_a_probe_that_is_never_heard_of_again_does_not_hold_the_circuit_open():
    config = RoutingConfig(max_consecutive_fallbacks=1, circuit_half_open_seconds=10)
    opened = settle(SessionState(steps=1), config, 0.0, fallback=True)

    probing, refusal = admit(opened, config, 10.0)

    assert refusal is None
    assert circuit_of(probing, config, 19.9) == "open"
    assert circuit_of(probing, config, 20.0) == "half_open"


@pytest.mark.asyncio
async def test_a_session_goes_on_in_another_process():
    clock = Clock()
    config = RoutingConfig(max_consecutive_fallbacks=2, circuit_half_open_seconds=10)
    here = RoutingSession(Answers(NOTHING), config, clock=clock)
    await reasons(here, 3)
    here.record_execution("a", {"secret": "hunter2"})
    here.record_execution("a", {"secret": "hunter2"})

    text = json.dumps(here.to_state())
    there = RoutingSession.from_state(json.loads(text), Answers(SELECTED), config, clock=clock)

    assert "hunter2" not in text
    assert (there.steps, there.consecutive_fallbacks, there.circuit) == (2, 2, "open")
    assert there.record_execution("a", {"secret": "hunter2"})
    clock.now += 10
    assert await reasons(there, 1) == [None]


@pytest.mark.parametrize(
    "state",
    [
        {"steps": -1},
        {"steps": True},
        {"consecutive_fallbacks": "2"},
        {"opened_at": "now"},
        {"probe_at": float("nan")},
        {"executions": [["a"]]},
    ],
)
def test_a_state_that_no_session_gave_is_refused(state):
    with pytest.raises(ValueError):
        RoutingSession.from_state(state, Answers(SELECTED))


@pytest.mark.asyncio
async def test_the_session_tells_of_a_loop_by_its_own_limit():
    session = RoutingSession(Answers(SELECTED), RoutingConfig(max_same_action_repeats=1))

    assert [session.record_execution("a", {"x": 1}) for _ in range(2)] == [False, True]
    assert session.loops.loop is not None


@pytest.mark.parametrize("state", [[], None, "steps", {"executions": [5]}, {"executions": 5}])
def test_a_state_that_no_session_has_given_is_refused(state):
    with pytest.raises(ValueError):
        RoutingSession.from_state(state, Answers())
