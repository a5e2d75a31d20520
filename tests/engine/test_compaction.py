"""What a provider is told of the state: bounded, in order, and nothing that was not said."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from routing.engine import ActionSummary, HarnessState, RoutingConfig
from routing.engine.compaction import compact

texts = st.text(max_size=200)
states = st.builds(
    HarnessState,
    goal=texts,
    observation=st.none() | texts,
    last_action=st.none() | texts,
    recent_actions=st.lists(st.builds(ActionSummary, tool=texts, outcome=texts, arguments_hash=texts), max_size=6),
    constraints=st.lists(texts, max_size=6),
)
configs = st.builds(
    RoutingConfig,
    state_field_limit=st.integers(64, 150),
    history_limit=st.integers(1, 6),
    constraint_limit=st.integers(0, 6),
)


def clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


@given(states, configs)
def test_a_state_is_told_in_order_and_within_its_bounds(state, config):
    told = json.loads(compact(state, config).text())
    limit = config.state_field_limit

    there = {
        "goal": True,
        "observation": state.observation is not None,
        "last_action": state.last_action is not None,
        "recent_actions": bool(state.recent_actions),
        "constraints": bool(state.constraints[: config.constraint_limit]),
    }
    assert list(told) == [name for name, is_told in there.items() if is_told]
    assert told["goal"] == clipped(state.goal, limit)
    for name in ("observation", "last_action"):
        said = getattr(state, name)
        assert told.get(name) == (None if said is None else clipped(said, limit))
    assert told.get("recent_actions", []) == [
        {"tool": clipped(action.tool, limit), "outcome": clipped(action.outcome, max(64, limit // 2))}
        for action in state.recent_actions[-config.history_limit :]
    ]
    assert told.get("constraints", []) == [
        clipped(text, limit) for text in state.constraints[: config.constraint_limit]
    ]


@given(states, states, configs)
def test_compact_states_are_equal_exactly_where_their_texts_are(one, other, config):
    first, second = compact(one, config), compact(other, config)

    assert (first == second) == (first.text() == second.text())


def test_texts_are_compact_json_with_letters_as_they_are():
    state = HarnessState('Prüfe "x"', last_action="")

    assert compact(state, RoutingConfig()).text() == '{"goal":"Prüfe \\"x\\"","last_action":""}'


def test_what_is_no_text_is_told_as_one():
    assert compact(HarnessState("g", observation=3), RoutingConfig()).text() == '{"goal":"g","observation":"3"}'  # type: ignore[arg-type]
