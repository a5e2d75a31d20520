"""A Celery task that does nothing but say that it is done: the peer of route_throughput.py."""

from __future__ import annotations

import os

import redis
from celery import Celery

BUS = os.environ["BENCH_BUS"]
CHANNEL = "bench:nothing"
app = Celery("bench", broker=BUS.replace("unix://", "redis+socket://"))
app.conf.update(
    task_ignore_result=True,
    task_default_queue="bench",
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"global_keyprefix": "bench:"},
)
_bus = redis.Redis.from_url(BUS)


@app.task(name="bench.nothing")
def nothing(mark: str) -> None:
    _bus.publish(CHANNEL, mark)
