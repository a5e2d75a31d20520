from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.engine.masking import MASK, masked


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "fetch https://example.com/guide?token=abc&x=1#part, please",
            f"fetch https://example.com/guide?{MASK}, please",
        ),
        ("open postgres://me:pw@db.internal/orders", f"open postgres://{MASK}@db.internal/orders"),
        ("post to https://hooks.example/T00/aBcDeFgHiJkLmNoPqRsTuVwX", f"post to https://hooks.example/T00/{MASK}"),
        ("password: hunter2 please", f"password: {MASK} please"),
        ("my password is hunter2!", f"my password is {MASK}"),
        ('{"api_key": "a b c", "page": 2}', f'{{"api_key": {MASK}, "page": 2}}'),
        ("use Bearer abc123DEF456ghi now", f"use Bearer {MASK} now"),
        ("clone with ghp_abcdefghijklmnopqrstuvwxyz0123456789", f"clone with {MASK}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- whose is it", f"{MASK} whose is it"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, kept):
    assert masked(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "count the token usage of the model",
        "summarize the key points: three of them",
        "list commits between v1.2.3 and v2.0.0",
        "fetch https://example.com/guide as Markdown at 10:30",
        "Goal: fix the build. Phase: research. Current activity: read a file.",
    ],
)
def test_ordinary_requests_stay_as_they_are(text):
    assert masked(text) == text


@given(st.text(max_size=300))
def test_any_text_is_masked_without_complaint_and_masking_again_changes_nothing_of_its_urls(text):
    once = masked(f"see https://example.com/a?{text.split()[0] if text.split() else 'x'}")

    assert "?" not in once or once.partition("?")[2].startswith(MASK)
