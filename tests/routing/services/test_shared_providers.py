"""What processes share about providers through the bus: breakers, and requests that are equal; and what each does without it."""

from __future__ import annotations

import asyncio
import threading
from uuid import uuid4

import pytest

from routing import bus
from routing.engine.errors import InvalidProviderResponse, ProviderError, ProviderTimeoutError
from routing.engine.models import ChoiceDecision
from routing.engine.registry import Provider
from routing.models import AuditEntry
from routing.services.providers import accounts, breakers, flights
from routing.services.providers.breakers import Breaker
from tests.installation import eventually

CHOICE = ChoiceDecision("read_file", {"read_file": 0.9}, 0.87, model="jev-1", requests=3)


@pytest.fixture(autouse=True)
def clean():
    bus.client().flushdb()
    breakers._own.__init__()


@pytest.fixture(params=["shared", "alone"])
def breaker(request, monkeypatch):
    if request.param == "alone":
        monkeypatch.setattr(bus, "evaluate", away)
    return Breaker(workspace_id=uuid4(), provider="jev", failures=2, open_s=0.2, probe_s=30)


def away(*_, **__):
    raise bus.BusAway("gone")


def fail(breaker, times=1):
    for _ in range(times):
        breaker.failed(breaker.admit(), "server")


def half_open(breaker):
    fail(breaker, 2)
    eventually(lambda: breaker.standing().state == "half_open", 5)


# --- The breaker ------------------------------------------------------------------------------------------------------
def test_a_breaker_opens_after_so_many_failures_in_a_row_and_tells_its_state(breaker):
    fail(breaker)
    before = breaker.admit()
    fail(breaker)
    after = breaker.admit()

    assert (before.passes, before.failures, after.passes) == (True, 1, False)
    assert 0 < after.wait_s <= 0.2
    standing = breaker.standing()
    assert (standing.state, standing.failures, standing.kind) == ("open", 2, "server")


def test_an_answer_starts_the_count_anew(breaker):
    fail(breaker)
    breaker.worked(breaker.admit())
    fail(breaker)

    assert breaker.standing().state == "closed"


def test_a_half_open_breaker_lets_one_probe_pass_whose_answer_closes_it(breaker):
    half_open(breaker)
    probe, other = breaker.admit(), breaker.admit()

    assert (probe.state, other.passes) == ("half_open", False)
    breaker.worked(probe)
    assert (breaker.standing().state, breaker.admit().state) == ("closed", "closed")


def test_a_probe_that_fails_opens_it_again(breaker):
    half_open(breaker)
    breaker.failed(breaker.admit(), "timeout")

    assert (breaker.admit().passes, breaker.standing().kind) == (False, "timeout")


def test_a_probe_that_came_to_nothing_gives_its_place_back(breaker):
    half_open(breaker)
    breaker.let_go(breaker.admit())

    assert breaker.admit().state == "half_open"


def test_a_late_answer_of_before_neither_closes_nor_prolongs_it(breaker):
    early = breaker.admit()
    fail(breaker, 2)
    until = breaker.admit().wait_s
    breaker.worked(early)
    breaker.failed(early, "server")

    assert breaker.admit().state == "open"
    assert breaker.admit().wait_s <= until


def test_a_probe_that_is_never_heard_of_again_is_followed_by_another(request, monkeypatch):
    breaker = Breaker(workspace_id=uuid4(), provider="jev", failures=1, open_s=0.05, probe_s=0.1)
    fail(breaker)
    eventually(lambda: breaker.admit().state == "half_open", 5)

    eventually(lambda: breaker.admit().state == "half_open", 5)


def test_a_reset_closes_it(breaker):
    fail(breaker, 2)
    try:
        breaker.reset()
    except bus.BusAway:
        assert breaker.standing().is_shared is False
    assert breaker.admit().state == "closed"


@pytest.mark.django_db
def test_an_operators_reset_closes_it_and_is_told_to_the_audit_log(published, by):
    entry = Provider(name="jev", kind="openrouter", breaker_failures=1)
    accounts.breaker_of(published.pk, entry).failed(breakers.Admission(state="closed"), "server")
    heard = accounts.close_breaker(published, entry, by=by)

    told = AuditEntry.objects.order_by("-pk_id").first()
    assert (heard, accounts.breaker_of(published.pk, entry).standing().state) == (True, "closed")
    assert (told.action, told.target, told.before["state"], told.after) == (
        "provider.breaker_closed",
        "provider jev",
        "open",
        {"state": "closed"},
    )


def test_one_of_many_processes_probes():
    mine = Breaker(workspace_id=uuid4(), provider="jev", failures=1, open_s=0.05, probe_s=30)
    fail(mine)
    eventually(lambda: mine.standing().state == "half_open", 5)
    start, states = threading.Barrier(8), []

    def ask():
        start.wait()
        states.append(mine.admit().state)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(states) == ["half_open", *["open"] * 7]


# --- Equal requests ---------------------------------------------------------------------------------------------------
class Asking:
    """A provider that answers when it is let."""

    def __init__(self, outcome=CHOICE):
        self.outcome, self.calls, self.may_answer = outcome, 0, threading.Event()

    async def __call__(self):
        self.calls += 1
        while not self.may_answer.is_set():
            await asyncio.sleep(0.005)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def process(digest, asking, found, **settings):
    """Somebody who asks on a loop of their own, as another process does."""
    settings = {"takes_recent": False, "patience_s": 10.0, **settings}

    def run():
        try:
            found.append(asyncio.run(flights.shared(digest, asking, **settings)))
        except Exception as problem:
            found.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def together(asking, number=6, **settings):
    found, digest = [], uuid4().hex
    threads = [process(digest, asking, found, **settings) for _ in range(number)]
    eventually(lambda: asking.calls, 10)
    asking.may_answer.set()
    for thread in threads:
        thread.join(15)
    return found


def test_equal_requests_of_many_processes_are_one_call_that_all_are_told():
    asking = Asking()
    found = together(asking, takes_recent=True)

    assert asking.calls == 1
    assert {one.choice for one in found} == {"read_file"}
    assert {one.model for one in found} == {"jev-1"}
    assert sorted(one.requests for one in found) == [0, 0, 0, 0, 0, 3]


@pytest.mark.parametrize(
    "failure",
    [
        ProviderError("canary body", kind="server", status=503, retry_after_s=2.0),
        ProviderTimeoutError("canary", kind="timeout"),
        InvalidProviderResponse("canary"),
    ],
)
def test_a_failure_is_told_to_those_who_wait_by_its_class_alone(failure):
    asking = Asking(failure)
    found = []
    digest = uuid4().hex
    first = process(digest, asking, found)
    eventually(lambda: asking.calls, 10)
    other = process(digest, asking, found)
    eventually(lambda: bus.client().exists(f"switchyard:flight:{digest}"), 5)
    asking.may_answer.set()
    first.join(15), other.join(15)

    assert {type(one) for one in found} == {type(failure)}
    assert not any("canary" in str(value) for value in map(bus.client().get, bus.client().keys("switchyard:fl*")))


def test_whoever_comes_later_asks_anew_unless_a_recent_answer_will_do():
    asking, found, digest = Asking(), [], uuid4().hex
    asking.may_answer.set()
    process(digest, asking, found).join(10)
    process(digest, asking, found).join(10)
    before = asking.calls
    process(digest, asking, found, takes_recent=True).join(10)

    assert (before, asking.calls, found[-1].requests) == (2, 2, 0)


def test_a_failure_of_a_moment_ago_is_no_answer_for_whoever_comes_later():
    asking, found, digest = Asking(ProviderError("no", kind="server")), [], uuid4().hex
    asking.may_answer.set()
    for _ in range(2):
        process(digest, asking, found, takes_recent=True).join(10)

    assert asking.calls == 2


def test_a_leader_that_dies_is_followed_by_one_who_waited(monkeypatch):
    digest = uuid4().hex
    bus.client().set(f"switchyard:flight:{digest}", "somebody who is gone", px=300)
    asking, found = Asking(), []
    asking.may_answer.set()
    process(digest, asking, found).join(10)

    assert (asking.calls, found[0].requests) == (1, 3)


def test_who_waits_longer_than_its_deadline_is_told_so():
    digest = uuid4().hex
    bus.client().set(f"switchyard:flight:{digest}", "somebody slow", px=60_000)
    asking, found = Asking(), []
    process(digest, asking, found, patience_s=0.1).join(10)

    assert isinstance(found[0], ProviderTimeoutError)
    assert asking.calls == 0


def test_a_leader_that_is_cancelled_leaves_the_others_to_ask():
    digest, asking, found = uuid4().hex, Asking(), []

    async def leave():
        task = asyncio.ensure_future(flights.shared(digest, asking, takes_recent=False, patience_s=10))
        while not asking.calls:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(leave())
    asking.may_answer.set()
    process(digest, asking, found).join(10)

    assert (asking.calls, found[0].choice) == (2, "read_file")


def test_without_the_bus_each_asks_for_itself(monkeypatch):
    monkeypatch.setattr(bus, "evaluate", away)
    asking = Asking()
    found = []
    threads = [process("same", asking, found) for _ in range(2)]
    eventually(lambda: asking.calls == 2, 10)
    asking.may_answer.set()
    for thread in threads:
        thread.join(10)

    assert [one.choice for one in found] == ["read_file"] * 2
