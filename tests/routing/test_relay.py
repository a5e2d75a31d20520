"""The relay: one call of a worker for many quick decisions, and none of them is left lying, whoever ends when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uuid_utils.compat import uuid7

from routing import bus
from routing.services.decisions import queue, relay, running


@pytest.fixture(autouse=True)
def _clean(bus_server, monkeypatch) -> Iterator[None]:
    bus.client().flushdb()
    monkeypatch.setattr(relay, "LINGERS_S", 0.0)
    monkeypatch.setattr(relay, "_stopping", threading.Event())
    yield
    bus.client().flushdb()


def ids(count: int) -> list[str]:
    return [str(uuid7()) for _ in range(count)]


def read(most: int = 8) -> list[list[str]]:
    """What a shift decides, round by round."""
    rounds: list[list[str]] = []
    relay.read(lambda *taken: rounds.append([str(one) for one in taken]), most)
    return rounds


def test_a_worker_is_called_once_for_ids_that_nobody_reads():
    first, others = ids(1), ids(5)

    assert [relay.put(first), *(relay.put([one]) for one in others)] == [True, False, False, False, False, False]
    assert [one for taken in read() for one in taken] == first + others


def test_a_round_takes_no_more_than_it_may():
    relay.put(ids(20))

    assert [len(taken) for taken in read(8)] == [8, 8, 4]


def test_nobody_is_called_while_a_shift_reads_and_what_comes_meanwhile_is_read_by_it():
    first, second = ids(1), ids(1)
    called: list[bool] = [relay.put(first)]
    taken: list[str] = []

    def decide(*found: UUID) -> None:
        taken.extend(map(str, found))
        if len(taken) == 1:
            called.append(relay.put(second))

    relay.read(decide, 8)

    assert (called, taken) == ([True, False], first + second)
    assert relay.put(ids(1))  # the shift is over, so the next one is called for


def test_another_worker_is_called_beside_a_shift_that_does_not_keep_up():
    called: list[bool] = []

    def decide(*_: UUID) -> None:
        if not called:
            called.append(relay.put(ids(relay.CROWD)))
            called.append(relay.put(ids(1)))
            bus.client().delete(relay._CALLED)  # as after a moment
            called.append(relay.put(ids(1)))

    relay.put(ids(1))
    bus.client().delete(relay._CALLED)
    relay.read(decide, 8)

    assert called == [False, True, True]


def test_a_process_is_on_shift_once():
    inside, may_end = threading.Event(), threading.Event()
    taken: list[UUID] = []

    def decide(*found: UUID) -> None:
        taken.extend(found)
        inside.set()
        assert may_end.wait(20)

    relay.put(ids(1))
    shift = threading.Thread(target=relay.read, args=(decide, 8))
    shift.start()
    assert inside.wait(20)

    relay.put(ids(1))
    assert read() == []  # returns at once, and leaves what waits to the shift
    may_end.set()
    shift.join(20)
    assert len(taken) == 2 and not relay.is_waiting()


def test_what_comes_in_the_moment_in_which_a_shift_ends_is_read_by_it(monkeypatch):
    late, taken = ids(1), []
    delete = bus.client().delete

    def delete_and_be_late(*keys: str) -> int:
        monkeypatch.setattr(bus.client(), "delete", delete)
        bus.client().rpush(relay._LIST, *late)  # by somebody who saw the shift a moment ago, so nobody is called
        return int(delete(*keys))

    monkeypatch.setattr(bus.client(), "delete", delete_and_be_late)
    relay.read(lambda *found: taken.extend(map(str, found)), 8)

    assert taken == late


def test_a_shift_that_breaks_is_over_and_the_next_one_reads_on():
    relay.put(ids(10))

    with pytest.raises(ZeroDivisionError):
        relay.read(lambda *_: 1 // 0, 8)

    assert relay.is_waiting() and relay.put(ids(1))
    assert [len(taken) for taken in read()] == [3]


def test_whoever_breaks_off_calls_another_for_what_waits(monkeypatch):
    called: list[int] = []
    monkeypatch.setattr(queue, "_call", lambda: called.append(bus.client().llen(relay._LIST)))
    monkeypatch.setattr(running, "run", lambda *_: 1 // 0)
    relay.put(ids(running.MOST_TOGETHER + 2))

    with pytest.raises(ZeroDivisionError):
        running.run_relayed()
    with pytest.raises(ZeroDivisionError):
        running.run_relayed()

    assert called == [2]  # the second left nothing behind


def test_a_process_that_stops_begins_no_shift_and_takes_nothing_along():
    relay.put(ids(3))
    relay.stop()

    assert read() == []
    assert bus.client().llen(relay._LIST) == 3


def test_a_shift_lingers_for_what_comes_next(monkeypatch):
    monkeypatch.setattr(relay, "LINGERS_S", 20.0)
    taken: list[UUID] = []
    came, stopped = threading.Event(), threading.Event()

    def decide(*found: UUID) -> None:
        taken.extend(found)
        came.set()

    def shift() -> None:
        relay.read(decide, 8)
        stopped.set()

    relay.put(ids(1))
    threading.Thread(target=shift, daemon=True).start()
    assert came.wait(20)
    came.clear()

    assert not relay.put(ids(1))
    assert came.wait(20) and len(taken) == 2
    relay.stop()
    assert stopped.wait(20)
    assert bus.client().exists(relay._ON_SHIFT) == 0


def test_a_bus_that_is_away_is_told():
    bus._breaker._until = float("inf")
    try:
        with pytest.raises(bus.BusAway):
            relay.put(ids(1))
        with pytest.raises(bus.BusAway):
            relay.read(lambda *_: None, 8)
    finally:
        bus._breaker.close()
    assert relay._shift.acquire(blocking=False)  # the shift was given back
    relay._shift.release()


@given(st.lists(st.one_of(st.integers(1, 40), st.none()), max_size=12), st.integers(1, 9))
def test_every_id_is_decided_once_and_somebody_was_called_for_it(steps, most):
    """Numbers put so many ids; None is a worker that comes because it was called."""
    bus.client().flushdb()
    put: list[str] = []
    taken: list[str] = []
    called = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relay, "_LOOK_S", 0.001)
        for step in [*steps, None]:
            if step is not None:
                new = ids(step)
                put += new
                called = relay.put(new) or called
            elif called:
                relay.read(lambda *found: taken.extend(map(str, found)), most)
                called = False

    assert taken == put
