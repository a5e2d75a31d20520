from __future__ import annotations

from control.celery import app
from control.transport import Channel


def test_a_channel_of_celery_has_one_client_of_the_bus_until_its_connections_are_others(bus_server):
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first.ping()
        channel._disconnect_pools()  # as when the bus was away
        with channel.conn_or_acquire() as third:
            assert third.ping()

    assert isinstance(channel, Channel)
    assert first is second
    assert third is not first


def test_whoever_brings_a_client_is_given_that_one(bus_server):
    with app.connection_for_write() as connection, connection.default_channel.conn_or_acquire("mine") as client:
        assert client == "mine"
