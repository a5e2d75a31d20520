"""A replay, which asks many questions at once and leaves out what cannot differ, against asking one by one."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine import Catalog, load_registry
from routing.engine.meaning import vectors_of
from routing.engine.policy import NO_MATCH, Thresholds, judge
from routing.engine.query import read_request
from routing.engine.recommend import PROBABILITY_DIGITS, line_up
from routing.engine.replay import Recorded, Side, change_of, replay
from tests.engine.test_resolver_properties import endpoints, queries
from tests.engine.tools import document

SCOPES = ("default", "some", "odd")

rules = st.fixed_dictionaries(
    {},
    optional={
        "tier": st.sampled_from(["auto", "lexical", "static"]),
        "erasing_never_first_on_tie": st.booleans(),
        "min_gap": st.sampled_from([0.0, 0.5, 2.0]),
        "confident_at": st.sampled_from([0.5, 0.8, 0.95]),
        "match_at": st.sampled_from([0.2, 0.5]),
    },
)
scopes = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(SCOPES)},
        optional={"endpoints": st.lists(st.sampled_from(["one", "two", "three"]), unique=True)},
    ),
    max_size=3,
    unique_by=lambda one: one["name"],
)
asked = st.lists(st.tuples(st.sampled_from(SCOPES), queries, st.sampled_from([None, "lexical"])), max_size=10)


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A document, and another one that comes of it by changing endpoints, rules or scopes; often one thing alone."""
    made, policy, seen = draw(endpoints), draw(rules), draw(scopes)
    before = document(*made, policies=[{"name": "default", "resolver": policy}], scopes=seen)
    after = dict(before)
    for what in draw(st.sets(st.sampled_from(["endpoints", "hints", "policies", "scopes"]))):
        if what == "endpoints":
            others = {one["name"]: one for one in draw(endpoints)}
            after["endpoints"] = [others.pop(one["name"], one) for one in after["endpoints"]] + list(others.values())
        elif what == "hints":
            first, *others = after["endpoints"]
            after["endpoints"] = [{**first, "use_when": [*first["use_when"], "send an email"]}, *others]
        elif what == "policies":
            after["policies"] = [{"name": "default", "resolver": draw(rules)}]
        else:
            after["scopes"] = draw(scopes)
    return fitting(before), fitting(after)


def fitting(made: dict[str, Any]) -> dict[str, Any]:
    """The document, of whose scopes each names only endpoints that there are."""
    names = {one["name"] for one in made["endpoints"]}
    cut = [
        {**one, "endpoints": [name for name in one["endpoints"] if name in names]} if "endpoints" in one else one
        for one in made["scopes"]
    ]
    return {**made, "scopes": cut}


def plain(catalog: Catalog, scope: str, text: str, tier: str | None) -> Side:
    """One question asked alone, as `resolve` asks it."""
    rules = catalog.policy(catalog.scope(scope).policy).resolver
    guard, vectors = bool(rules["erasing_never_first_on_tie"]), vectors_of(tier or rules["tier"])
    lineup = line_up(catalog, scope, read_request(text), guard=guard, vectors=vectors)
    verdict = judge(lineup, Thresholds.of(rules), catalog.calibration)
    nothing = verdict.status == NO_MATCH
    first, second = [*(one.doc.public for one in lineup.present.candidates[:2]), None, None][:2]
    return Side(
        verdict.status,
        None if nothing else first,
        round(verdict.probability, PROBABILITY_DIGITS),
        None if nothing else verdict.gap,
        verdict.reasons,
        None if nothing else second,
    )


@settings(max_examples=100, deadline=None)
@given(edits(), asked)
def test_every_outcome_is_what_asking_one_by_one_says(
    edit: tuple[dict[str, Any], dict[str, Any]], questions: list[tuple[str, str, str | None]]
) -> None:
    before = load_registry(edit[0])
    after = load_registry(edit[1], previous=before)
    recorded = [
        Recorded(id=str(n), scope=scope, policy="default", text=text, tier=tier)
        for n, (scope, text, tier) in enumerate(questions)
    ]

    for one, found in zip(recorded, replay(recorded, before, after), strict=True):
        if one.scope not in before.scopes:
            assert found is None
            continue
        assert found is not None
        was = plain(before, one.scope, one.text or "", one.tier)
        gone = Side(NO_MATCH, None, 0.0, reasons=("scope_gone",))
        would = plain(after, one.scope, one.text or "", one.tier) if one.scope in after.scopes else gone
        assert (found.before, found.after, found.change) == (was, would, change_of(was, would))


@settings(max_examples=40, deadline=None)
@given(edits(), asked)
def test_an_answer_that_is_known_to_hold_changes_nothing_but_the_work(
    edit: tuple[dict[str, Any], dict[str, Any]], questions: list[tuple[str, str, str | None]]
) -> None:
    before = load_registry(edit[0])
    after = load_registry(edit[1], previous=before)
    recorded = [
        Recorded(id=str(n), scope="default", policy="default", text=text, tier=tier)
        for n, (_, text, tier) in enumerate(questions)
    ]
    known = [
        Recorded(
            id=one.id,
            scope=one.scope,
            policy=one.policy,
            text=one.text,
            tier=one.tier,
            told=plain(before, one.scope, one.text or "", one.tier) if number % 2 else None,
        )
        for number, one in enumerate(recorded)
    ]

    told = [(one.before, one.after, one.change) for one in replay(recorded, before, after) if one]
    assert [(one.before, one.after, one.change) for one in replay(known, before, after) if one] == told
