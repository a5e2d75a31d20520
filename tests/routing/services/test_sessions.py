"""Sessions on a real bus: one after the other they do what the pure functions say, at once nothing is lost or counted twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from control import lifeline, processes
from routing import bus
from routing.engine import shared_session
from routing.engine.config import RoutingConfig
from routing.engine.shared_session import SharedSession
from routing.services.sessions import store
from routing.services.sessions.store import Session

CONFIG = RoutingConfig(max_route_steps=5, max_consecutive_fallbacks=2, circuit_half_open_seconds=10)
KEY = b"k" * 32


def begun(ttl_s: float = 600) -> Session:
    now = time.time()
    session = Session(
        id=str(uuid4()),
        workspace_id=str(uuid4()),
        scope="default",
        harness="h",
        policy="default",
        created_at=now,
        expires_at=now + ttl_s,
        shared=SharedSession(),
    )
    store.keep(session)
    return session


def admit(session: Session, decision: str, now: float = 0.0, config: RoutingConfig = CONFIG) -> str | None:
    """As routing.services.sessions.admit does, on the store alone; returns the refusal."""
    refusal: str | None = None

    def become(found: Session, counted: str):
        nonlocal refusal
        refusal = None
        if counted:
            return found.shared, None
        shared, refusal = shared_session.admit_route(found.shared, config, now)
        return shared, None if refusal else "admitted"

    store.count(session.workspace_id, session.id, decision, become)
    return refusal


def settle(session: Session, decision: str, fallback: bool | None, now: float = 0.0) -> None:
    def become(found: Session, counted: str):
        if counted != "admitted":
            return found.shared, None
        return shared_session.settle_route(found.shared, CONFIG, now, fallback), "settled"

    store.count(session.workspace_id, session.id, decision, become)


def execute(session: Session, tool: str, now: float = 0.0) -> None:
    store.change(
        session.workspace_id,
        session.id,
        lambda found: shared_session.record_execution(
            found.shared, CONFIG, now, tool=tool, arguments=None, result_class=None, key=KEY
        )[0],
    )


def reset(session: Session, what: str, now: float = 0.0) -> None:
    store.change(
        session.workspace_id, session.id, lambda found: shared_session.reset(found.shared, now, what=what, by="x")
    )


def now_of(session: Session) -> SharedSession:
    found = store.load(session.workspace_id, session.id)
    assert found is not None
    return found.shared


STEPS = st.one_of(
    st.tuples(st.just("route"), st.sampled_from([True, False, None])),
    st.tuples(st.just("run"), st.sampled_from("ab")),
    st.tuples(st.just("reset"), st.sampled_from(["fallbacks", "all"])),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 11.0])),
)


@given(st.lists(STEPS, max_size=24))
def test_a_kept_session_goes_the_way_of_the_pure_one(steps):
    session, pure, now = begun(), SharedSession(), 100.0
    for what, how in steps:
        if what == "route":
            decision = str(uuid4())
            admitted, refusal = shared_session.admit_route(pure, CONFIG, now)
            assert admit(session, decision, now) == refusal
            if refusal is None:
                pure = shared_session.settle_route(admitted, CONFIG, now, how)
            for _ in range(2):  # the second time it counts for nothing
                settle(session, decision, how, now)
                assert admit(session, decision, now) == refusal or refusal is not None
        elif what == "run":
            execute(session, how, now)
            pure = shared_session.record_execution(
                pure, CONFIG, now, tool=how, arguments=None, result_class=None, key=KEY
            )[0]
        elif what == "reset":
            reset(session, how, now)
            pure = shared_session.reset(pure, now, what=how, by="x")
        else:
            now += how
        assert now_of(session) == pure
        assert 0 <= pure.state.steps <= CONFIG.max_route_steps
        told = shared_session.describe(pure, CONFIG, now)
        assert (told["circuit"] == "closed") == (pure.state.consecutive_fallbacks < CONFIG.max_consecutive_fallbacks)


def test_routes_at_once_take_exactly_the_steps_there_are():
    session, config = begun(), replace(CONFIG, max_route_steps=20)
    decisions = [str(uuid4()) for _ in range(40)]

    with ThreadPoolExecutor(16) as pool:
        refusals = list(pool.map(lambda one: admit(session, one, config=config), decisions))

    assert sorted(map(str, refusals)) == ["None"] * 20 + ["max_route_steps"] * 20
    assert now_of(session).state.steps == 20


def test_a_decision_that_many_workers_make_counts_once():
    session, decision = begun(), str(uuid4())

    def make(_: int) -> None:
        assert admit(session, decision) is None
        settle(session, decision, True)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(make, range(32)))

    assert (now_of(session).state.steps, now_of(session).state.consecutive_fallbacks) == (1, 1)


def test_an_open_circuit_lets_one_probe_pass_of_all_that_come_at_once():
    session, config = begun(), replace(CONFIG, max_route_steps=100)
    for _ in range(2):
        decision = str(uuid4())
        admit(session, decision, 0.0, config)
        settle(session, decision, True, 0.0)
    assert admit(session, str(uuid4()), 5.0, config) == "fallback_circuit_open"

    with ThreadPoolExecutor(16) as pool:
        refusals = list(pool.map(lambda _: admit(session, str(uuid4()), 11.0, config), range(32)))

    assert refusals.count(None) == 1


@given(st.lists(st.sampled_from(["route", "fail", "run"]), min_size=2, max_size=16))
def test_nothing_is_lost_whatever_comes_at_once(steps):
    session = begun()
    config = replace(CONFIG, max_route_steps=1000, max_consecutive_fallbacks=1000)

    def do(what: str) -> None:
        if what == "run":
            execute(session, "a")
            return
        decision = str(uuid4())
        assert admit(session, decision, config=config) is None
        settle(session, decision, True if what == "fail" else None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(do, steps))

    found = now_of(session)
    assert found.state.steps == len(steps) - steps.count("run")
    assert found.state.consecutive_fallbacks == steps.count("fail")
    assert len(found.executions) == steps.count("run")


def test_a_session_whose_time_is_over_is_gone_with_all_that_lay_beside_it():
    session = begun(ttl_s=0.2)
    admit(session, "a-decision")
    names = [f"switchyard:session:{session.workspace_id}:{session.id}{part}" for part in ("", ":routes")]
    assert all(0 < bus.client().pttl(name) <= 200 for name in names)

    _until(lambda: bus.client().exists(*names) == 0)
    assert store.load(session.workspace_id, session.id) is None
    assert store.change(session.workspace_id, session.id, lambda found: found.shared) is None
    assert store.newest(session.workspace_id, 10) == []


def test_the_newest_sessions_come_first():
    first = begun()
    second = replace(first, id=str(uuid4()), created_at=first.created_at + 1)
    store.keep(second)

    assert [one.id for one in store.newest(first.workspace_id, 10)] == [second.id, first.id]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_session_survives_a_restart_of_the_bus(tmp_path, settings, number):
    """The embedded bus as `up` starts it: on disk within a second."""
    place = tmp_path / "bus.sock"
    command = processes.bus(socket=place, directory=tmp_path).command
    settings.BUS_URL = f"unix://{place}"
    server = _start(command, settings.BUS_URL)
    try:
        session = begun()
        admit(session, "a-decision")
        execute(session, "search")
        lasts = bus.client().pttl(f"switchyard:session:{session.workspace_id}:{session.id}")
        bus.client().execute_command("WAITAOF", 1, 0, 5000)
        os.kill(server.pid, number)
        server.wait(timeout=10)
        server = _start(command, settings.BUS_URL)

        assert now_of(session).state.steps == 1
        assert [one.tool for one in now_of(session).executions] == ["search"]
        assert admit(session, "a-decision") is None and now_of(session).state.steps == 1
        assert 0 < bus.client().pttl(f"switchyard:session:{session.workspace_id}:{session.id}") <= lasts
    finally:
        server.kill()
        server.wait(timeout=10)
        bus.client().close()


def _start(command, url) -> subprocess.Popen[bytes]:
    tests = os.getpid()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=lambda: lifeline.die_with(tests))

    def answers() -> bool:
        try:
            return bool(redis.Redis.from_url(url).ping())
        except redis.RedisError:
            return False

    _until(answers)
    return server


def _until(holds) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
