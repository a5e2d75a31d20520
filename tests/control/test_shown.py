"""Text from elsewhere on a page: what cannot be seen is spelled, everything else stays as it is."""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from control.templatetags.console import pair, shown, spelled
from routing.engine.validation.visible import holds_hidden, pieces

MARK = re.compile(r'<span class="unseen" title="[^"<>]*">U\+([0-9A-F]{4,6})(?: ×(\d+))?</span>')
DRAWN = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
HIDDEN = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    and code not in DRAWN
    and chr(code) not in "\n\t"
]
texts = st.text(
    st.characters() | st.sampled_from(HIDDEN) | st.sampled_from('<>&"\n\t 😀❤👩ابक्\ufe0f\u200d\u200c\u2800')
)


def read_back(page: str) -> str:
    """The text again, from what the page says."""
    return unescape(MARK.sub(lambda mark: chr(int(mark[1], 16)) * int(mark[2] or 1), page))


@given(texts)
def test_nothing_is_lost_and_nothing_stays_unseen(text):
    page = str(shown(text))

    assert read_back(page) == text
    left = unescape(MARK.sub("|", page))
    assert not [one for one in left if one in HIDDEN and one not in "\u200c\u200d"]
    assert not re.search("[<>]", MARK.sub("", page))


@given(texts)
def test_pieces_are_the_text_cut_up(text):
    found = list(pieces(text))

    assert "".join(piece for piece, _ in found) == text
    assert all(piece and (not is_hidden or len(set(piece)) == 1) for piece, is_hidden in found)
    assert holds_hidden(text) == any(is_hidden for _, is_hidden in found)


def test_each_character_that_is_not_drawn_is_spelled():
    for character in HIDDEN:
        assert f">U+{ord(character):04X}<" in shown(f"a{character}b")
        assert spelled(f"a{character}b") == f"a[U+{ord(character):04X}]b"


@pytest.mark.parametrize(
    "text", ["👩‍💻", "❤️‍🔥", "🏳️‍🌈", "👍🏽", "1️⃣", "می‌خواهم", "क्‍ष", "ابحث", "日本\u3000語", "a\n\tb", "é", "𝒳"]
)
def test_signs_made_of_several_characters_stay_whole(text):
    assert shown(text) == text


@pytest.mark.parametrize("text", ["a\u200db", "x\ufe0f", "❤️\ufe0f", "\u200d👩", "👩\u200d", "pay\u200cpal"])
def test_joiners_that_join_nothing_are_spelled(text):
    assert 'class="unseen"' in shown(text)


def test_the_same_character_again_and_again_is_one_mark():
    assert ">U+200B ×10000<" in shown("a" + "\u200b" * 10_000)


def test_nothing_is_shown_of_none_and_a_name_of_a_tool_is_spelled_too():
    assert shown(None) == ""
    assert ">U+200B<" in pair("web__fe\u200btch")


def test_whatever_is_isolated_on_a_page_is_spelled_as_well():
    """`<bdi>` is for text from elsewhere: all of it goes through the one filter."""
    astray = [
        f"{path.name}: {found}"
        for path in Path(settings.BASE_DIR, "templates").rglob("*.html")
        for found in re.findall(r"<bdi[^>]*>(?:<b>)?{{ [^}]*}}", path.read_text())
        if not re.search(r"\|shown }}$", found) and "chip.word" not in found
    ]
    assert astray == []
