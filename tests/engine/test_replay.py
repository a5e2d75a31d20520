"""Recorded decisions under two catalogs: what changes, how it is counted, and what it hangs on."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from control.demo.documents import default_document
from control.demo.requests import read_questions
from routing.engine import Catalog, ChoiceDecision, RouteDecision, RoutingConfig, ToolDescriptor, load_registry, resolve
from routing.engine.decision_table import decide
from routing.engine.models import FALLBACK
from routing.engine.replay import COUNTS, Outcome, Recorded, Side, Tally, recorded_route, replay
from tests.routing.conftest import DOCUMENT

FETCH = "fetch https://example.com/guide as Markdown"
OFFERED = {
    name: ToolDescriptor(name, "", category="network", effect=effect)
    for name, effect in (("hitspec__fetch", "read"), ("notes__delete_note", "erase"))
}


def changed(**more: Any) -> dict[str, Any]:
    return {**deepcopy(DOCUMENT), **more}


def with_endpoint(name: str, **fields: Any) -> dict[str, Any]:
    document = changed()
    document["endpoints"] = [one | fields if one["name"] == name else one for one in document["endpoints"]]
    return document


def asked(*texts: str, scope: str = "default", **more: Any) -> list[Recorded]:
    return [Recorded(id=str(n), scope=scope, policy="default", text=text, **more) for n, text in enumerate(texts)]


def outcomes(recorded, after, before=DOCUMENT) -> list[Outcome | None]:
    here = load_registry(before)
    return list(replay(recorded, here, load_registry(after, previous=here)))


def one(recorded, after, before=DOCUMENT) -> Outcome:
    (outcome,) = outcomes(recorded, after, before)
    assert outcome is not None
    return outcome


def routed(choice: str, confidence: float, *, of_catalog: bool = True, **shares: float) -> Recorded:
    answer = ChoiceDecision(choice, {choice: confidence, **shares}, confidence)
    decision = decide(answer, RoutingConfig(), OFFERED, answers=(answer,))
    route = recorded_route(decision, OFFERED, of_catalog=of_catalog)
    return Recorded(id="r", scope="default", policy="default", route=route)


# --- routes that the local provider decides ---------------------------------------------------------------------------
class Local:
    """Says which tool of a scope a text names, by the resolver, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, catalog: Catalog, scope: str, policy: str, text: str) -> RouteDecision:
        self.asked.append((scope, policy, text))
        recommended = resolve(catalog, text, scope=scope)["recommendation"]
        tool = recommended and recommended["namespaced"]
        return RouteDecision(tool=tool, fallback=tool is None, fallback_reason=None if tool else "no_matching_tool")


def put(text: str | None, **more: Any) -> Recorded:
    route = recorded_route(decide(ANSWER, RoutingConfig(), OFFERED, answers=(ANSWER,)), OFFERED, of_catalog=True)
    return Recorded(**{"id": "p", "scope": "default", "policy": "default", "text": text, "route": route} | more)


ANSWER = ChoiceDecision("hitspec__fetch", {"hitspec__fetch": 0.9}, 0.9)


def replayed(recorded: list[Recorded], after: dict[str, Any], local: Local) -> list[Outcome | None]:
    here = load_registry(DOCUMENT)
    return list(replay(recorded, here, load_registry(after, previous=here), route=local))


def test_a_route_of_the_local_provider_is_put_to_it_again_on_both_sides():
    local = Local()
    (found,) = replayed([put(FETCH)], with_endpoint("hitspec", enabled=False), local)

    assert found is not None
    assert (found.before.status, found.before.target) == ("selected", "hitspec__fetch")
    assert (found.after.status, found.change) == ("fallback", "became_no_match")
    assert found.because == ("endpoints[hitspec]",)
    assert local.asked == [("default", "default", FETCH)] * 2


def test_equal_ones_are_put_once_and_where_nothing_differs_for_one_side_alone():
    local = Local()
    found = replayed([put(FETCH), put(FETCH, id="q"), put("write a note", id="r")], changed(), local)

    assert [one.change for one in found if one] == ["same"] * 3
    assert local.asked == [("default", "default", FETCH), ("default", "default", "write a note")]


@pytest.mark.parametrize(
    "more",
    [
        {"policies": [{"name": "default", "router": {"direct_execution_threshold": 0.99}}]},
        {"policies": [{"name": "default", "resolver": {"tier": "lexical"}}]},
    ],
)
def test_another_rule_has_both_sides_asked(more):
    local = Local()
    replayed([put(FETCH)], changed(**more), local)

    assert len(local.asked) == 2


def test_where_others_decide_too_or_no_text_is_kept_the_recorded_answer_is_taken():
    local = Local()
    account = {"name": "away", "kind": "openrouter", "credential": "env:AWAY"}
    policy = {"name": "default", "router": {"providers": ["away", "local"]}}
    others = changed(providers=[account], policies=[policy])

    (elsewhere,) = replayed([put(FETCH)], others, local)
    (textless,) = replayed([put(None)], changed(), local)
    gone = replayed([put(FETCH, scope="web-only")], changed(scopes=[]), local)[0]

    assert local.asked == []
    assert elsewhere is not None and textless is not None and gone is not None
    assert elsewhere.after.target == textless.after.target == "hitspec__fetch"
    assert gone.after.reasons == ("scope_gone",)


# --- resolves ---------------------------------------------------------------------------------------------------------
def test_an_equal_document_changes_nothing():
    assert {found.change for found in outcomes(asked(FETCH, "write a note", "bake a cake"), changed())} == {"same"}


def test_both_sides_are_what_resolve_answers():
    document = default_document()
    edited = deepcopy(document)
    for endpoint in edited["endpoints"][:6]:
        endpoint["use_when"] = ["fetch a page or download a file from a URL"]
    before = load_registry(document)
    after = load_registry(edited, previous=before)
    texts = list(read_questions()["default"].resolve)[::6]

    for text, found in zip(texts, replay(asked(*texts), before, after), strict=True):
        for side, catalog in ((found.before, before), (found.after, after)):
            answer = resolve(catalog, text)
            target = (answer["recommendation"] or {}).get("namespaced")
            assert (side.status, side.target, side.probability, side.gap) == (
                answer["status"],
                target,
                answer["probability"],
                answer.get("score_gap"),
            )
            assert list(side.reasons) == answer["reason_codes"]


def test_a_tool_that_is_gone_leaves_no_match_and_names_its_endpoint():
    found = one(asked(FETCH), with_endpoint("hitspec", enabled=False))

    assert found.change == "became_no_match"
    assert (found.before.target, found.after.target) == ("hitspec__fetch", None)
    assert found.because == ("endpoints[hitspec]",)


def test_a_twin_makes_it_ambiguous():
    tools = [{**tool, "name": tool["name"].replace("hitspec", "mirror")} for tool in DOCUMENT["endpoints"][0]["tools"]]
    twin = {**DOCUMENT["endpoints"][0], "name": "mirror", "tools": tools}
    found = one(asked(FETCH), changed(endpoints=[*DOCUMENT["endpoints"], twin]))

    assert found.change == "became_ambiguous"
    assert "functional_twins" in found.after.reasons and found.because == ("endpoints[mirror]",)


def test_another_tool_under_the_same_status_is_a_flip():
    moved = {**deepcopy(DOCUMENT["endpoints"][0]), "name": "mirror"}
    off = {**DOCUMENT["endpoints"][0], "enabled": False, "tools": []}
    found = one(asked(FETCH), changed(endpoints=[moved, off]))

    assert (found.change, found.before.target, found.after.target) == (
        "flipped",
        "hitspec__fetch",
        "mirror__hitspec_fetch",
    )
    assert found.because == ("endpoints[hitspec]", "endpoints[mirror]")


def test_a_policy_alone_changes_the_status_and_is_named():
    strict = [{"name": "default", "resolver": {"min_gap": 1000}}]
    found = one(asked(FETCH), changed(policies=strict))

    assert (found.change, found.because) == ("became_ambiguous", ("policies[default]",))
    assert found.before.target == found.after.target and found.before.gap == found.after.gap


def test_a_scope_that_sees_the_same_is_not_asked_twice_and_one_that_is_gone_finds_nothing():
    same = one(asked(FETCH, scope="web-only"), with_endpoint("notes", enabled=False))
    gone = one(asked(FETCH, scope="web-only"), changed(scopes=[{"name": "default"}]))

    assert same.before is same.after
    assert (gone.change, gone.because) == ("became_no_match", ("scopes[web-only]",))


def test_a_scope_that_was_not_there_before_cannot_be_compared():
    assert outcomes(asked(FETCH, scope="unheard"), changed()) == [None]


def test_an_answer_that_is_known_to_hold_is_taken_for_the_side_before():
    told = Side("ambiguous", "hitspec__fetch", 0.4)
    found = one(asked(FETCH, told=told), with_endpoint("notes", description="Else"))

    assert (found.before, found.change) == (told, "became_confident")


def test_each_decision_is_counted_once():
    tally = Tally()
    recorded = [*asked(FETCH, FETCH, "bake a cake"), *asked(FETCH, scope="unheard")]
    for found in outcomes(recorded, with_endpoint("hitspec", enabled=False)):
        tally.add(found)

    assert (tally.skipped, tally.compared) == (1, 3)
    assert set(tally.counts) == set(COUNTS)
    assert tally.counts["became_no_match"] == 2


# --- routes -----------------------------------------------------------------------------------------------------------
def policies(**router: Any) -> dict[str, Any]:
    return changed(policies=[{"name": "default", "router": router}])


@pytest.mark.parametrize(
    ("router", "change", "reason"),
    [
        ({"direct_execution_threshold": 0.92}, "became_ambiguous", ("planner_confirmation",)),
        ({"direct_execution_threshold": 0.96, "fallback_threshold": 0.95}, "became_no_match", ("low_confidence",)),
        ({"mode": "planner_only"}, "became_no_match", ("planner_only",)),
        ({"risk_thresholds": {"read": 0.99}}, "became_ambiguous", ("planner_confirmation",)),
        ({"direct_execution_threshold": 0.90}, "same", ()),
    ],
)
def test_a_route_is_decided_again_under_new_thresholds(router, change, reason):
    found = one([routed("hitspec__fetch", 0.9)], policies(**router))

    assert (found.change, found.after.reasons) == (change, reason)
    assert found.before.status == "selected" and found.before.probability == 0.9


def test_a_lower_threshold_selects_what_was_to_be_confirmed():
    found = one([routed("hitspec__fetch", 0.7)], policies(direct_execution_threshold=0.65))

    assert (found.change, found.after.target) == ("became_confident", "hitspec__fetch")
    assert found.because == ("policies[default]",)


def test_a_route_whose_tool_is_gone_is_handed_back_unless_the_caller_brought_the_tool():
    without = with_endpoint("hitspec", enabled=False)

    assert one([routed("hitspec__fetch", 0.9)], without).change == "became_no_match"
    assert one([routed("hitspec__fetch", 0.9, of_catalog=False)], without).change == "same"


def test_what_fitted_nothing_fits_nothing_again():
    found = one([routed(FALLBACK, 0.9)], policies(fallback_threshold=0.1))

    assert (found.change, found.after.reasons) == ("same", ("no_matching_tool",))


def by_category(confidence: float, *answers: ChoiceDecision) -> Recorded:
    first = ChoiceDecision("network", {"network": confidence}, confidence)
    decision = decide(
        ChoiceDecision("hitspec__fetch", {}, 0.9),
        RoutingConfig(),
        OFFERED,
        category="network",
        answers=(first, *answers),
    )
    route = recorded_route(decision, OFFERED, of_catalog=True) | {"by_category": True}
    return Recorded(id="c", scope="default", policy="default", route=route)


def test_a_category_comes_first_where_it_came_first():
    tool = ChoiceDecision("hitspec__fetch", {"hitspec__fetch": 0.95}, 0.95)

    found = one([by_category(0.7, tool)], policies(fallback_threshold=0.75))
    assert (found.before.reasons, found.after.reasons) == (("planner_confirmation",), ("low_category_confidence",))
    assert found.change == "same"  # it was handed back, and still is


def test_a_category_after_which_nothing_was_asked_cannot_be_decided_again_where_it_would_be_now():
    assert outcomes([by_category(0.5)], policies(fallback_threshold=0.4)) == [None]


def test_only_the_likeliest_labels_are_recorded_and_the_chosen_one():
    shares = {f"t{n}": 0.05 + n / 1000 for n in range(30)}
    answer = ChoiceDecision("hitspec__fetch", {"hitspec__fetch": 0.01, **shares}, 0.01)
    decision = decide(answer, RoutingConfig(), OFFERED, answers=(answer,))
    ((choice, confidence, kept),) = recorded_route(decision, OFFERED, of_catalog=True)["answers"]

    assert (choice, confidence, len(kept)) == ("hitspec__fetch", 0.01, 11)
    assert "hitspec__fetch" in kept and "t29" in kept and "t0" not in kept
