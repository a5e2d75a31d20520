"""What is announced together is heard one by one."""

from __future__ import annotations

import asyncio

from control.hub import Hub, Message
from routing import bus


def test_every_message_of_an_announcement_reaches_every_stream_and_whoever_waits(bus_server):
    messages = [{"event": "recommendation", "seq": number} for number in range(400)]

    async def listen() -> tuple[list[Message], list[Message], bool]:
        hub = Hub()
        hub.start()
        while not hub.connected:
            await asyncio.sleep(0.01)
        with hub.subscribe() as first, hub.subscribe() as second, hub.expect("d-1") as finished:
            bus.tell([*messages, {"event": "decision.finished", "decision_id": "d-1"}])
            heard = [[await inbox.get(2) for _ in messages] for inbox in (first, second)]
            await asyncio.wait_for(finished.wait(), 2)
            lagging = first.lagging or second.lagging
        await hub.stop()
        return heard[0], heard[1], lagging

    assert asyncio.run(listen()) == (messages, messages, False)
