from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from routing.together import Together


def test_what_is_asked_for_during_a_round_is_done_in_the_next_by_the_same_thread():
    rounds: list[list[int]] = []
    threads: set[int] = set()
    begun, may_end = threading.Event(), threading.Event()

    def work(asked: Sequence[int]) -> list[int]:
        rounds.append(list(asked))
        threads.add(threading.get_ident())
        begun.set()
        assert may_end.wait(20)
        return [10 * one for one in asked]

    async def ask() -> list[int]:
        together = Together("tens", work)
        first = asyncio.create_task(together.ask(1))
        await asyncio.to_thread(begun.wait, 20)
        others = [asyncio.create_task(together.ask(number)) for number in (2, 3, 4)]
        await asyncio.sleep(0)
        may_end.set()
        told = [await first, *(await asyncio.gather(*others))]
        await together.close()
        return told

    assert asyncio.run(ask()) == [10, 20, 30, 40]
    assert rounds == [[1], [2, 3, 4]]
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_each_hears_its_own_error_and_a_round_that_breaks_is_told_to_all_of_it():
    def work(asked: Sequence[str]) -> list[str | Exception]:
        if "breaks" in asked:
            raise KeyError("all")
        return [ValueError(one) if one == "wrong" else one for one in asked]

    async def ask() -> tuple[list[object], list[object], str]:
        together = Together("errors", work)
        some = await asyncio.gather(*map(together.ask, ("right", "wrong")), return_exceptions=True)
        some += await asyncio.gather(*map(together.ask, ("wrong", "right")), return_exceptions=True)
        broken = await asyncio.gather(*map(together.ask, ("breaks",)), return_exceptions=True)
        after = await together.ask("after")
        await together.close()
        return some, broken, after

    some, broken, after = asyncio.run(ask())
    assert [type(one) for one in some] == [str, ValueError, ValueError, str]
    assert [type(one) for one in broken] == [KeyError]
    assert after == "after"


def test_one_who_goes_away_takes_no_other_along():
    async def ask() -> int:
        together = Together("gone", lambda asked: list(asked))
        gone, stays = asyncio.ensure_future(together.ask(1)), asyncio.ensure_future(together.ask(2))
        await asyncio.sleep(0)
        gone.cancel()
        told = await stays
        await together.close()
        return told

    assert asyncio.run(ask()) == 2


@pytest.mark.parametrize("times", [1, 3])
def test_after_it_was_closed_it_can_be_asked_again_from_another_loop(times):
    together = Together("again", lambda asked: list(asked))

    async def ask() -> int:
        told = await together.ask(7)
        await together.close()
        return told

    assert [asyncio.run(ask()) for _ in range(times)] == [7] * times
