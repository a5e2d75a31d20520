from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import IntegrityError, transaction

from control.web.policy_settings import Layers, place, rule_words
from routing.engine.policies import BLOCKS
from routing.engine.registry import Policy
from routing.models import PolicyRow
from routing.services import entries, registry
from tests.routing.conftest import DOCUMENT, EDITOR
from tests.web.test_tools import publish

HTMX = {"HX-Request": "true"}
POLICIES = [
    {"name": "default", "router": {"direct_execution_threshold": 0.9}},
    {"name": "careful", "extends": "default", "router": {"fallback_threshold": 0.7}},
    {"name": "spare"},
]
SCOPES = [{"name": "default"}, {"name": "web-only", "endpoints": ["hitspec"], "policy": "careful"}]


@pytest.fixture
def rules(workspace):
    publish(workspace, {**DOCUMENT, "policies": POLICIES, "scopes": SCOPES})
    return lambda name="careful": next(
        (one for one in registry.working_document(workspace).get("policies", ()) if one["name"] == name), None
    )


@pytest.fixture
def editor(enter):
    return enter("editor")


def read_mark(client, key="fallback_threshold", part="router", name="careful"):
    text = client.get(f"/w/acme/policies/{name}").content.decode()
    at = text.index(f'id="part-{part}-{key.replace(".", "-")}"')
    return re.search(r'name="read" value="([^"]+)"', text[at:])[1]


def save(client, key="fallback_threshold", part="router", name="careful", headers=HTMX, **fields):
    fields.setdefault("read", read_mark(client, key, part, name))
    return client.post(f"/w/acme/policies/{name}/edit/{part}", {"key": key, **fields}, headers=headers)


def test_the_list_names_every_policy_and_who_uses_it(admin, rules):
    rows = {row["name"]: row for row in admin.get("/w/acme/policies").context["rows"]}

    assert set(rows) == {"careful", "default", "fast", "spare"}
    assert (rows["careful"]["scopes"], rows["default"]["scopes"], rows["spare"]["scopes"]) == (
        ["web-only"],
        ["default"],
        [],
    )
    assert (rows["careful"]["direct"], rows["fast"]["implied"]) == (0.9, True)
    assert [row["name"] for row in admin.get("/w/acme/policies?q=CARE").context["rows"]] == ["careful"]


def test_every_setting_is_on_the_page_with_its_meaning_and_default(admin, rules):
    text = unescape(admin.get("/w/acme/policies/careful").content.decode())

    for block, settings in BLOCKS.items():
        for setting in settings:
            for one in setting.settings or (setting,):
                assert setting.type in ("rules", "by_effect") or one.meaning in text, (block, one.name)
    for effect in ("read", "write", "erase", "execute"):
        assert f'id="part-router-risk_thresholds-{effect}"' in text and f'id="part-resolver-risk_at-{effect}"' in text


def test_each_value_says_which_layer_gave_it():
    layers = Layers(
        "careful",
        [Policy(name="careful", extends="middle", router={"history_limit": 5}), Policy(name="middle", extends="default",
         router={"candidates": 9}), Policy(name="default", router={"risk_thresholds": {"erase": 0.99}})],
    )  # fmt: skip

    words = {
        key: layers.layer_words(place("router", key)) for key in ("history_limit", "candidates", "goal_cache_size")
    }
    assert words == {"history_limit": "this policy", "candidates": "policy middle", "goal_cache_size": "default"}
    assert layers.layer_words(place("router", "risk_thresholds.erase")) == "workspace"
    assert layers.value(place("router", "risk_thresholds.erase")) == 0.99


def test_a_value_is_saved_and_undone_and_taken_back_to_what_is_inherited(editor, rules):
    text = save(editor, value="0.5").content.decode()
    assert rules()["router"] == {"fallback_threshold": 0.5}
    assert "1 change" in text and 'id="bars"' in text

    toast = text[text.index("data-toast") :]
    fields = dict(re.findall(r'name="(read|value)" value="([^"]+)"', toast))
    save(editor, **fields)
    assert rules()["router"] == {"fallback_threshold": 0.7}

    save(editor, do="inherit", value="0.7")
    assert "router" not in rules()


@pytest.mark.parametrize(
    ("part", "key", "value", "stored"),
    [
        ("resolver", "erasing_never_first_on_tie", "false", {"erasing_never_first_on_tie": False}),
        ("resolver", "tier", "deep", {"tier": "deep"}),
        ("router", "risk_thresholds.erase", "0.95", {"fallback_threshold": 0.7, "risk_thresholds": {"erase": 0.95}}),
        ("mcts", "limits.depth_limit", "12", {"limits": {"depth_limit": 12}}),
        ("tool_calls", "argument_aliases", "uri = url", {"argument_aliases": {"uri": "url"}}),
        ("tool_calls", "tiers", "prose\nadapter", {"tiers": ["prose", "adapter"]}),
        ("execution", "medium_min_confidence", "0.9", {"medium_min_confidence": 0.9}),
    ],
)
def test_settings_of_every_type_are_saved(editor, rules, part, key, value, stored):
    save(editor, key, part, value=value)

    assert rules()[part] == stored


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("fallback_threshold", "0.95", "<span>fallback_threshold (0.95) must not be above direct_execution_threshold"),
        ("history_limit", "0", "It must"),
        ("history_limit", "many <script>", "must be"),
        ("providers", "nobody", "names no provider"),
    ],
)
def test_what_breaks_a_rule_is_refused_beside_its_field_and_kept_in_it(editor, rules, key, value, words):
    before = rules()

    text = save(editor, key, value=value).content.decode()

    assert words in unescape(text) and 'aria-invalid="true"' in text and value in unescape(text)
    assert "<script>" not in text and rules() == before


def test_a_policy_that_is_extended_cannot_leave_a_child_with_its_thresholds_the_wrong_way_round(editor, rules):
    text = save(editor, "direct_execution_threshold", name="default", value="0.65").content.decode()

    assert "must not be above" in unescape(text) and rules("default")["router"]["direct_execution_threshold"] == 0.9


def test_the_database_refuses_a_fallback_above_direct(workspace):
    with pytest.raises(IntegrityError, match="policy_fallback_not_above_direct"), transaction.atomic():
        PolicyRow.objects.create(
            workspace=workspace, name="wrong", fallback_threshold=0.9, direct_execution_threshold=0.5
        )


def test_columns_follow_the_document(editor, workspace, rules):
    save(editor, value="0.5")

    row = PolicyRow.objects.get(workspace=workspace, name="careful")
    assert (row.fallback_threshold, row.direct_execution_threshold) == (0.5, None)


def test_rules_are_added_changed_moved_and_removed(editor, rules):
    mark = read_mark(editor, "rules", "execution")
    blank = dict.fromkeys(("effect", "risk", "category", "tool", "endpoint", "min_confidence"), "")
    added = save(editor, "rules", "execution", read=mark, do="add").content.decode()
    assert "execution" not in rules() and "Choose a verdict" in added

    two = {fact: ["", ""] for fact in blank} | {"verdict": ["allow", "deny"], "effect": ["read", "erase"]}
    save(editor, "rules", "execution", **two)
    assert rules()["execution"]["rules"] == [
        {"effect": "read", "verdict": "allow"},
        {"effect": "erase", "verdict": "deny"},
    ]

    save(editor, "rules", "execution", do="down:0", **two)
    assert [one["verdict"] for one in rules()["execution"]["rules"]] == ["deny", "allow"]
    swapped = {name: values[::-1] for name, values in two.items()}
    save(editor, "rules", "execution", do="remove:0", **swapped)
    assert rules()["execution"]["rules"] == [{"effect": "read", "verdict": "allow"}]


def test_rules_are_told_in_words_with_those_that_never_decide(admin, workspace, rules):
    given = [{"verdict": "deny", "effect": "erase"}, {"verdict": "ask", "effect": "erase", "risk": "high"}]
    entries.edit(workspace, "policies", "careful", {"execution": {"rules": given}}, by=EDITOR)

    text = admin.get("/w/acme/policies/careful").content.decode()

    assert rule_words(given[1]) in text and text.count('data-note="never"') == 1
    assert "rules[0] fits wherever it does" in text[text.index('id="rule-1"') :]


@pytest.mark.parametrize(
    ("fact", "value", "said"),
    [
        ("min_confidence", "1.5", "Confidence</b>: It must be"),
        ("endpoint", "nowhere", "Endpoint</b>: “nowhere” names no endpoint"),
    ],
)
def test_what_is_wrong_with_a_rule_stands_beside_its_field_and_stays_in_it(editor, rules, fact, value, said):
    blank = {one: [""] * 3 for one in ("effect", "risk", "category", "tool", "endpoint", "min_confidence")}
    wrong = blank | {"verdict": ["", "ask", "deny"], fact: ["", "", value]}

    text = save(editor, "rules", "execution", **wrong).content.decode()

    assert "execution" not in rules() and said in text[text.index('id="rule-2"') :]
    assert text.count(f'value="{value}"') == 1


def test_inherited_rules_are_replaced_even_by_none_and_taken_back(editor, workspace, rules):
    entries.edit(workspace, "policies", "default", {"execution": {"rules": [{"verdict": "ask"}]}}, by=EDITOR)
    same = dict.fromkeys(("effect", "risk", "category", "tool", "endpoint", "min_confidence"), "") | {"verdict": "ask"}

    save(editor, "rules", "execution", **same)
    assert "execution" not in rules()
    save(editor, "rules", "execution", do="remove:0", **same)
    assert rules()["execution"] == {"rules": []}
    text = save(editor, "rules", "execution", do="inherit").content.decode()
    assert "execution" not in rules() and "These come from a policy" in text


def test_the_first_edit_of_a_policy_that_comes_with_the_workspace_writes_it_down(editor, rules):
    save(editor, "history_limit", name="fast", value="2")

    assert rules("fast")["router"]["history_limit"] == 2
    assert rules("fast")["router"]["direct_execution_threshold"] == 0.72


def test_two_people_who_edit_the_same_setting_both_see_both(editor, workspace, rules):
    mark = read_mark(editor)
    entries.edit(workspace, "policies", "careful", {"router": {"fallback_threshold": 0.3}}, by=EDITOR)

    text = save(editor, value="0.4", read=mark).content.decode()
    assert "This was changed while you did" in text and "0.3" in text and rules()["router"]["fallback_threshold"] == 0.3

    save(editor, value="0.4", read=mark, keep=re.search(r'name="keep" value="([^"]+)"', text)[1])
    assert rules()["router"]["fallback_threshold"] == 0.4


def test_a_policy_is_made_copied_and_deleted_unless_it_is_used(editor, rules):
    made = editor.post("/w/acme/new/policy", {"name": "night", "like": "careful", "how": "copy"})
    taken = editor.post("/w/acme/new/policy", {"name": "night", "like": "careful", "how": "extend"})
    assert (made["Location"], taken.status_code) == ("/w/acme/policies/night", 422)
    assert rules("night") == rules() | {"name": "night"}

    assert editor.get("/w/acme/policies/night/delete").status_code == 200
    editor.post("/w/acme/policies/night/delete")
    assert rules("night") is None

    told = editor.post("/w/acme/policies/careful/delete", follow=True).content.decode()
    assert "used by scope web-only" in told and rules() is not None


def test_the_page_works_without_script(editor, rules):
    answer = save(editor, headers={}, value="0.5")
    extended = editor.post(
        "/w/acme/policies/spare/edit/extends",
        {"value": "careful", "read": re.search(r'name="read" value="([^"]+)"', _top(editor))[1]},
    )

    assert answer["Location"] == extended["Location"].replace("spare", "careful") == "/w/acme/policies/careful"
    assert rules("spare")["extends"] == "careful" and rules()["router"]["fallback_threshold"] == 0.5


def _top(client):
    text = client.get("/w/acme/policies/spare").content.decode()
    return text[text.index("policies/spare/edit/extends") :]


def test_who_may_not_edit_sees_values_and_is_refused(enter, stranger, rules):
    viewer = enter("viewer")
    text = viewer.get("/w/acme/policies/careful").content.decode()

    assert "0.7" in text and '<input class="input num"' not in text
    assert (
        viewer.post("/w/acme/policies/careful/edit/router", {"key": "history_limit", "value": "1"}).status_code == 403
    )
    assert stranger.get("/w/acme/policies/careful").status_code == 404
    assert viewer.get("/w/acme/policies/nothing").status_code == 404
