"""No key in a text: whole or cut, and however it is spelled."""

from __future__ import annotations

import html
import json
import pickle
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routing.providers.redaction import REDACTED, Key

KEYS = st.text(
    st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+/=\"'\\<&>%é中𝄞"),
    min_size=12,
    max_size=48,
)


def all_escaped(text: str) -> str:
    """Every letter as JSON may write it: two escapes for one beyond the basic plane."""
    codes = text.encode("utf-16-be").hex()
    return "".join(f"\\u{codes[at : at + 4]}" for at in range(0, len(codes), 4))


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


SPELLINGS = {
    "plain": lambda key: key,
    "json": in_json,
    "json, non-ASCII kept": lambda key: json.dumps(key, ensure_ascii=False)[1:-1],
    "json, every letter": all_escaped,
    "json within json": lambda key: in_json(in_json(key)),
    "json within json within json": lambda key: in_json(in_json(in_json(key))),
    "percent": lambda key: quote(key, safe=""),
    "percent twice": lambda key: quote(quote(key, safe=""), safe=""),
    "percent, every byte": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "html": html.escape,
    "html numbers": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "html within json": lambda key: in_json(html.escape(key)),
    "python": lambda key: repr(key)[1:-1],
    "python bytes": lambda key: repr(key.encode())[2:-1],
}
spelled = st.sampled_from(sorted(SPELLINGS))


def pieces(key: str, least: int = 4) -> set[str]:
    return {key[at : at + least] for at in range(len(key) - least + 1)}


@given(KEYS, spelled, st.integers(0, 700))
@example("sk-test-0123456789abcdef", "plain", 490)
def test_no_piece_of_a_key_is_left_wherever_the_text_is_cut(key, spelling, before):
    text = "·" * before + SPELLINGS[spelling](key) + "·" * 20

    shown = Key(key).redacted(text, most=500)

    assert len(shown) <= 500
    assert shown.replace(REDACTED, "").strip("·") in {"", *(REDACTED[:at] for at in range(len(REDACTED)))}


@given(KEYS, spelled)
def test_what_stands_around_a_key_is_left_as_it_was(key, spelling):
    assert Key(key).redacted(f"¤¤ {SPELLINGS[spelling](key)} ¤¤", most=10_000) == f"¤¤ {REDACTED} ¤¤"


@given(KEYS, st.data())
def test_a_key_that_came_cut_is_not_shown_either(key, data):
    """Services shorten keys themselves, at either end."""
    begin = data.draw(st.integers(0, len(key)))
    end = data.draw(st.integers(begin, len(key)))

    shown = Key(key).redacted(f"·{key[begin:end]}…·", most=500)

    assert not any(piece in shown.replace(REDACTED, "") for piece in pieces(key))


@given(KEYS, spelled)
def test_a_key_is_found_in_every_spelling(key, spelling):
    assert Key(key).is_in(f"before {SPELLINGS[spelling](key)} after")


@given(st.text("ABCDEF0123456789", min_size=12), st.text('ghijkl\\"%&u\n', max_size=60), spelled)
def test_a_text_of_other_letters_is_no_key(key, text, spelling):
    """Digits may come from escapes, so that only the whole key is looked for here."""
    assert not Key(key).is_in(json.dumps({"said": SPELLINGS[spelling](text)})) or not text


def test_a_text_without_the_key_is_only_cut():
    assert (
        Key("sk-test-0123456789abcdef").redacted("No such model: “é” \\u00e9 %41 &amp;", most=20)
        == "No such model: “é” \\"
    )


def test_a_key_shows_itself_nowhere():
    key = Key("sk-test-0123456789abcdef")

    assert "sk-" not in f"{key} {key!r} {[key]} {key.__slots__}"
    with pytest.raises(TypeError, match="not written down"):
        pickle.dumps(key)
    with pytest.raises(ValueError):
        Key("")
