"""The socket that `up` opens for its web processes."""

from __future__ import annotations

import socket

import pytest

from control.place import Refused, open_listener


def test_answers_on_a_kept_connection_are_not_held_back() -> None:
    with open_listener("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_port_that_is_taken_is_refused_with_the_way_out() -> None:
    with open_listener("127.0.0.1", 0) as listener, pytest.raises(Refused, match="--port"):
        open_listener("127.0.0.1", listener.getsockname()[1])
