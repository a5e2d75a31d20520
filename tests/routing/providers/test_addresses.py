"""Which addresses may be called, in every spelling, and that the address which was looked at is the one connected to."""

from __future__ import annotations

import ipaddress
import threading
import time

import pytest

from routing.providers import names, place
from routing.providers.addresses import Destinations, is_private, is_refused, reason_at_save, written
from routing.providers.transport import CallFailed, Server
from tests.fake_server import serving

NONE = Destinations()
PUBLIC = ["93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "::1",
    "fc00::1",
    "fd12:3456::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
]
REFUSED = [
    "0.0.0.0",
    "::",
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "100.100.100.200",
    "fd00:ec2::254",
    "2001:0:53aa:64c::1",
    "::127.0.0.1",
]


@pytest.mark.parametrize(
    ("address", "private", "refused"),
    [(one, False, False) for one in PUBLIC]
    + [(one, True, False) for one in PRIVATE]
    + [(one, None, True) for one in REFUSED],
)
def test_an_address_is_what_it_means(address, private, refused):
    found = ipaddress.ip_address(address)

    assert is_refused(found) is refused
    assert private is None or is_private(found) is private


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("a.localhost.", "127.0.0.1"),
        ("::1", "::1"),
        ("::ffff:7f00:1", "::ffff:127.0.0.1"),
        ("mcp.example", None),
        ("1.example", None),
    ],
)
def test_an_address_is_known_in_every_spelling(host, address):
    assert written(host) == (ipaddress.ip_address(address) if address else None)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://mcp.example/mcp", ""),
        ("https://93.184.216.34/mcp", ""),
        ("http://127.0.0.1:8000/mcp", "private"),
        ("http://2130706433/mcp", "private"),
        ("http://0177.1/mcp", "private"),
        ("http://[::1]/mcp", "private"),
        ("http://[::ffff:10.0.0.1]/mcp", "private"),
        ("http://169.254.169.254/latest", "no server of models or tools has"),
        ("http://[64:ff9b::a9fe:a9fe]/", "no server of models or tools has"),
        ("http://2852039166/", "no server of models or tools has"),
    ],
)
def test_a_url_into_a_refused_range_is_told_before_it_is_saved(url, words):
    said = reason_at_save(url, NONE)

    assert words in said and bool(said) is bool(words)


@pytest.mark.parametrize(
    ("allow", "url", "allowed"),
    [
        (["127.0.0.0/8"], "http://127.0.0.1:1/", True),
        (["127.0.0.0/8"], "http://10.0.0.1/", False),
        (["::1/128"], "http://[::1]/", True),
        (["10.0.0.0/8"], "http://[::ffff:10.2.3.4]/", True),
        (["localhost:8000"], "http://localhost:8000/", True),
        (["localhost:8000"], "http://localhost:8001/", False),
        (["localhost"], "http://LOCALHOST:8001/", True),
        (["169.254.0.0/16", "169.254.169.254"], "http://169.254.169.254/", False),
        (["0.0.0.0/0", "::/0"], "http://192.168.0.1/", True),
    ],
)
def test_the_allow_list_opens_private_addresses_and_no_others(allow, url, allowed):
    assert (reason_at_save(url, Destinations.of(allow)) == "") is allowed


def _call(server):
    return server.get("/x", headers={}, secret=False, timeout_s=5, most=1000)


def test_a_private_address_is_called_only_when_it_is_allowed():
    with serving(lambda *_: (200, {"ok": True})) as fake:
        assert _call(Server(fake.url, Destinations.of(["127.0.0.0/8"]))) == {"ok": True}
        with pytest.raises(CallFailed, match="allow list") as failed:
            _call(Server(fake.url, NONE))
        assert failed.value.code == "address"
        assert len(fake.asked) == 1


def test_a_name_that_changes_its_meaning_is_connected_to_where_it_was_looked_at(monkeypatch):
    """The first lookup is the only one: whoever answers another address to the next question is never asked it."""
    asked = []

    def lookup(host, port, **_):
        asked.append(host)
        if len(asked) > 1 or host != "mcp.example":
            raise AssertionError("looked up again")
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    with serving(lambda *_: (200, {"ok": True})) as fake:
        port = int(fake.url.rpartition(":")[2])
        monkeypatch.setattr(place.socket, "getaddrinfo", _only_by_name(lookup, place.socket.getaddrinfo))
        server = Server(f"http://mcp.example:{port}", Destinations.of(["mcp.example"]))
        assert _call(server) == {"ok": True}

        assert asked == ["mcp.example"]
        assert fake.asked[0][3]["Host"] == f"mcp.example:{port}"


def _only_by_name(ours, real):
    return lambda host, port, *args, **kwargs: (
        ours(host, port) if host == "mcp.example" else real(host, port, *args, **kwargs)
    )


def test_a_name_with_one_bad_address_among_good_ones_is_not_called(monkeypatch):
    entries = [(2, 1, 6, "", (one, 80)) for one in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(place.socket, "getaddrinfo", lambda *_, **__: entries)

    with pytest.raises(CallFailed, match="allow list"):
        _call(Server("http://mcp.example", NONE))


@pytest.mark.parametrize(
    ("status", "code"),
    [(301, "redirect"), (307, "redirect"), (401, "credential"), (403, "credential"), (500, "status")],
)
def test_answers_that_are_none_have_a_word(status, code):
    with serving(lambda *_: (status, b"")) as fake, pytest.raises(CallFailed) as failed:
        _call(Server(fake.url))

    assert failed.value.code == code


def test_an_answer_beyond_its_bound_is_not_read_to_the_end():
    with serving(lambda *_: (200, b"x" * 5000)) as fake, pytest.raises(CallFailed) as failed:
        _call(Server(fake.url))

    assert failed.value.code == "size"


def test_a_port_where_nobody_listens_is_told_so():
    with serving(lambda *_: (200, b"")) as fake:
        url = fake.url
    with pytest.raises(CallFailed) as failed:
        _call(Server(url))

    assert failed.value.code == "refused"


def test_a_server_without_tls_is_told_so():
    with serving(lambda *_: (200, b"")) as fake, pytest.raises(CallFailed) as failed:
        _call(Server(fake.url.replace("http:", "https:")))

    assert failed.value.code == "tls"


def test_a_name_is_looked_up_within_its_bound_and_what_was_found_is_remembered(monkeypatch):
    asked: list[str] = []

    def look_up(host, port):
        asked.append(host)
        return ["10.0.0.7", "fe80::1%eth0"]

    monkeypatch.setattr(names, "lookup", look_up)
    found = [names.addresses_of("models.lan", 443) for _ in range(2)]

    assert found == [[ipaddress.ip_address("10.0.0.7"), ipaddress.ip_address("fe80::1")]] * 2
    assert asked == ["models.lan"]


def test_a_lookup_that_hangs_counts_as_nothing_found_and_holds_nobody_up(monkeypatch):
    ends = threading.Event()
    monkeypatch.setattr(names, "lookup", lambda host, port: ends.wait(30) and [])
    began = time.monotonic()

    try:
        assert names.addresses_of("slow.example", 443, patience_s=0.05) == []
        assert time.monotonic() - began < 5
    finally:
        ends.set()
