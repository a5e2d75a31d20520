from __future__ import annotations

import pytest

from routing.engine import load_registry, resolve, resolve_detailed

CLOSE = {
    "version": 1,
    "endpoints": [
        {
            "name": "mail",
            "kind": "declared",
            "tools": [{"name": "send", "description": "Send an email message to someone"}],
        },
        {"name": "chat", "kind": "declared", "tools": [{"name": "post", "description": "Send a message to a channel"}]},
        {
            "name": "web",
            "kind": "declared",
            "tools": [{"name": "fetch", "description": "Fetch a web page by its address"}],
        },
    ],
}


def answer(query, **registry):
    return resolve(load_registry({**CLOSE, **registry}), query, explain=True)


@pytest.mark.parametrize("query", ["send an email message to someone", "send a message", "fetch a web page"])
def test_the_lead_at_which_an_answer_turns_lies_where_its_status_says(query):
    found = answer(query)
    turns = found["explanation"]["turns_at_gap"]

    if turns is not None:
        assert (found["score_gap"] >= turns - 0.01) is (found["status"] == "confident")
        assert any("lead" in sentence for sentence in found["explanation"]["flips"])


def test_a_confident_answer_says_how_much_of_its_lead_it_needs():
    found = answer("send an email message to someone")

    assert found["status"] == "confident"
    assert 0 < found["explanation"]["turns_at_gap"] < found["score_gap"]


def test_a_hint_that_makes_the_difference_is_named():
    hinted = [{**CLOSE["endpoints"][1], "use_when": ["announce the release to the team"]}]
    found = answer(
        "send a message and announce the release to the team",
        endpoints=[CLOSE["endpoints"][0], *hinted, CLOSE["endpoints"][2]],
    )

    assert found["recommendation"]["namespaced"] == "chat__post"
    assert any(
        "Without the hint “announce the release to the team”" in sentence for sentence in found["explanation"]["flips"]
    )


def test_hints_are_weighed_only_where_that_is_asked_for():
    catalog = load_registry(
        {**CLOSE, "endpoints": [{**CLOSE["endpoints"][0], "use_when": ["announce the release to the team"]}]}
    )

    light = resolve_detailed(catalog, "announce the release to the team", explain=True, weigh_hints=False).answer[
        "explanation"
    ]

    assert not any("Without the hint" in sentence for sentence in light["flips"])
    assert "hint" not in light["candidates"][0]["contributions"][0]
