"""Words as the resolver sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine.stemmers import stemmer
from routing.engine.text import clip, fold, joined, stem, terms, words

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ENDINGS = "s e y i ed ing edly ional ational alism ization izer ator ness ful ogist ative ical ance ism ion er ous ant ment ll"


def parts_of(text: str) -> list[str]:
    return [part for _, parts, *_ in words(fold(text)) for part in parts]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("send_email", ["send", "email"]),
        ("mergePullRequest", ["merge", "pull", "request"]),
        ("HTTPServer", ["http", "server"]),
        ("the URLs", ["the", "urls"]),
        ("base64", ["base", "64"]),
        ("blue-green/deploy.now", ["blue", "green", "deploy", "now"]),
        ("reunión", ["reunion"]),
        ("pagina\u0301", ["pagina"]),
        ("Straße", ["strasse"]),
        ("記事のURLを取得", ["記事", "事の", "url", "を取", "取得"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
        ("🚀🔥", []),
    ],
)
def test_words_are_split_where_their_writers_split_them(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts


@pytest.mark.parametrize(
    "pair",
    [("notes", "note"), ("invoices", "invoice"), ("queries", "query"), ("fetched", "fetch"), ("messages", "message")],
)
def test_forms_of_a_word_meet(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) == stem(pair[1])


@pytest.mark.parametrize("pair", [("notes", "not"), ("plant", "plan"), ("codec", "code"), ("background", "back")])
def test_different_words_do_not_meet(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) != stem(pair[1])


def test_a_composed_name_is_also_known_as_a_whole() -> None:
    assert "createissue" in dict(terms("createIssue"))
    assert joined("send_email") == joined("sendEmail") == joined("send email")


@given(st.text(max_size=200), st.integers(8, 60))
def test_a_clipped_text_fits_and_says_when_it_was_cut(text: str, limit: int) -> None:
    clipped, cut = clip(text, limit)

    assert len(clipped.encode(errors="replace")) <= limit
    assert cut == (len(" ".join(text.split()).encode(errors="replace")) > limit)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert all(word and term for word, term in terms(text))


@given(st.text(LETTERS, min_size=1, max_size=9), st.sampled_from(["", *LETTERS, *ENDINGS.split()]))
def test_a_stem_is_that_of_the_package_though_it_is_not_always_asked(beginning: str, ending: str) -> None:
    word = beginning + ending

    assert stem(word) == (stemmer("english")().stemWord(word) if len(word) > 2 else word)
