from __future__ import annotations

import pytest

from routing.engine.policies import BLOCKS, IMPLIED, defaults, effective
from routing.engine.registry import Policy
from routing.engine.validation import parse_document


def test_every_default_is_a_value_that_validation_accepts():
    written = {block: defaults(settings) for block, settings in BLOCKS.items()}
    plain = {
        block: {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()}
        for block, fields in written.items()
    }

    assert parse_document({"version": 1, "policies": [{"name": "all", **plain}]}).warnings == ()


def test_every_setting_says_what_it_means():
    assert all(setting.meaning.endswith(".") for settings in BLOCKS.values() for setting in settings)


def test_default_and_fast_exist_without_being_written():
    assert effective("default", ()).router["direct_execution_threshold"] == 0.85
    assert effective("default", ()).mcts["limits"]["max_states"] == 256
    fast = effective("fast", ()).router
    assert (fast["direct_execution_threshold"], fast["fallback_threshold"]) == (0.72, 0.72)
    assert (fast["hierarchical_threshold"], fast["history_limit"], fast["candidates"]) == (48, 1, 24)


def test_a_policy_of_the_document_replaces_the_implied_one():
    assert effective("fast", [Policy(name="fast")]).router["direct_execution_threshold"] == 0.85
    assert IMPLIED["fast"].router["direct_execution_threshold"] == 0.72


def test_a_child_takes_what_it_does_not_say_from_its_parents():
    policies = [
        Policy(
            name="base",
            routing="advise",
            resolver={"match_at": 0.6, "risk_at": {"erase": 0.95}},
            mcts={"limits": {"max_states": 10}},
        ),
        Policy(name="middle", extends="base", routing=None, resolver={"max_hits": 3}),
        Policy(
            name="child",
            extends="middle",
            routing=None,
            resolver={"risk_at": {"write": 0.9}},
            mcts={"limits": {"depth_limit": 2}},
        ),
    ]

    child = effective("child", policies)

    assert child.routing == "advise"
    assert (child.resolver["match_at"], child.resolver["max_hits"], child.resolver["confident_at"]) == (0.6, 3, 0.8)
    assert child.resolver["risk_at"] == {"erase": 0.95, "write": 0.9}
    assert (
        child.mcts["limits"]["max_states"],
        child.mcts["limits"]["depth_limit"],
        child.mcts["limits"]["max_transitions"],
    ) == (10, 2, 1024)


def test_merging_changes_no_default_for_others():
    effective("x", [Policy(name="x", resolver={"risk_at": {"erase": 1}}, mcts={"limits": {"max_states": 1}})])

    assert effective("default", ()).resolver["risk_at"] == {}
    assert effective("default", ()).mcts["limits"]["max_states"] == 256


def test_an_unknown_policy_is_a_key_error():
    with pytest.raises(KeyError):
        effective("nope", ())
    with pytest.raises(KeyError):
        effective("a", [Policy(name="a", extends="a")])
