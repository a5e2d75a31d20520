"""Encoders: texts into pieces, texts over HTTP, and which servers are called at all."""

from __future__ import annotations

import ipaddress

import numpy as np
import pytest

from routing.engine.registry import Endpoint, Registry
from routing.providers import place
from routing.providers.addresses import is_refused
from routing.providers.encoders.base import EncoderError
from routing.providers.encoders.local import LocalEncoder, is_usable
from routing.providers.encoders.remote import RemoteEncoder, find_endpoint
from routing.providers.encoders.wordpiece import WordPiece
from tests.embeddings import embeddings_server

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "open",
    "##ing",
    "a",
    "cafe",
    "-",
    "_",
    "東",
    "京",
    "##s",
    "$",
    "pull",
]


def model(name: str = "vectors", **more) -> Endpoint:
    facts = {"kind": "openai", "url": "http://127.0.0.1:9", "model": "tiny", "features": {"embeddings": True}}
    return Endpoint(name=name, **(facts | more))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Opening a café", ["open", "##ing", "a", "cafe"]),
        ("pull-opens", ["pull", "-", "open", "##s"]),
        ("open_a", ["open", "_", "a"]),
        ("東京 a", ["東", "京", "a"]),
        ("a\u200bx\tqqq $", ["[UNK]", "[UNK]", "$"]),
        ("x" * 101, ["[UNK]"]),
        ("", []),
    ],
)
def test_a_text_becomes_the_pieces_that_the_models_were_trained_on(text, pieces):
    ids = WordPiece(VOCABULARY).ids(text, 16)

    assert [VOCABULARY[place] for place in ids] == ["[CLS]", *pieces, "[SEP]"]


def test_a_long_text_is_cut_and_keeps_its_end_mark():
    ids = WordPiece(VOCABULARY).ids("open " * 100, 8)

    assert len(ids) == 8 and VOCABULARY[ids[-1]] == "[SEP]"


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one():
    with embeddings_server(lambda text: [float(len(text)), 1.0, 0.0]) as server:
        found = RemoteEncoder(model(url=f"{server.url}/v1/")).encode(["a", "abcd"])

    assert server.requests[0][0] == "/v1/embeddings"
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0)
    assert found[1, 0] > found[0, 0]


def test_an_answer_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr("routing.providers.encoders.remote.LONGEST_ANSWER", 2**20)
    with embeddings_server(lambda text: [1.0]) as server:
        server.mode = "huge"
        with pytest.raises(EncoderError, match="too long"):
            RemoteEncoder(model(url=server.url)).encode(["a"], timeout_s=20)


def test_the_endpoint_that_says_it_has_embeddings_is_found_by_priority_then_name():
    usual = model("b"), model("a"), model("first", priority=1)
    unfit = (
        model("0-off", enabled=False),
        model("0-unknown", features={}),
        model("0-other", kind="anthropic"),
        model("0-nameless", model=None),
    )

    assert find_endpoint(Registry(endpoints=(*usual, *unfit))).name == "first"
    assert find_endpoint(Registry(endpoints=(*usual[:2], *unfit))).name == "a"
    assert find_endpoint(Registry(endpoints=unfit)) is None


def test_vectors_may_be_compared_where_address_and_model_are_the_same():
    one, same, other, elsewhere = (
        RemoteEncoder(made).identity
        for made in (
            model(),
            model("by-another-name", url="http://127.0.0.1:9/v1"),
            model(model="big"),
            model(url="http://127.0.0.2:9"),
        )
    )

    assert one == same
    assert len({one, other, elsewhere}) == 3


@pytest.mark.parametrize(
    ("address", "refused"),
    [
        ("127.0.0.1", False),
        ("::1", False),
        ("10.1.2.3", False),
        ("192.168.0.9", False),
        ("93.184.216.34", False),
        ("2606:4700::1111", False),
        ("169.254.169.254", True),
        ("::ffff:169.254.169.254", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("2002:a9fe:a9fe::1", True),
        ("fe80::1", True),
        ("100.100.100.200", True),
        ("fd00:ec2::254", True),
        ("224.0.0.1", True),
        ("0.0.0.0", True),
        ("::", True),
        ("255.255.255.255", True),
    ],
)
def test_addresses_that_no_server_of_models_has_are_refused(address, refused):
    assert is_refused(ipaddress.ip_address(address)) is refused


def test_a_name_that_leads_to_a_refused_address_is_not_called(monkeypatch):
    entry = (2, 1, 6, "", ("169.254.169.254", 80))
    monkeypatch.setattr(place.socket, "getaddrinfo", lambda *_, **__: [entry])

    with pytest.raises(EncoderError, match="no server of models or tools has"):
        RemoteEncoder(model(url="http://models.example")).encode(["a"])


def test_a_secret_does_not_travel_in_the_clear_to_a_public_address(monkeypatch):
    monkeypatch.setenv("VECTORS_KEY", "hidden")
    monkeypatch.setattr(place.socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("93.184.216.34", 80))])

    with pytest.raises(EncoderError, match="https only") as failed:
        RemoteEncoder(model(url="http://models.example", credential="env:VECTORS_KEY")).encode(["a"])
    assert "hidden" not in str(failed.value)


def test_a_local_encoder_that_cannot_be_read_says_so(tmp_path):
    (tmp_path / "encoder.json").write_text("{}")

    with pytest.raises(EncoderError, match="cannot be read"):
        LocalEncoder(tmp_path)
    assert not is_usable(tmp_path / "nothing")
