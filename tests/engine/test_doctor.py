"""The hint doctor: what it finds, where, in which words, and that its edits mend it."""

from __future__ import annotations

from typing import Any

import pytest

from control.demo.documents import default_document
from routing.engine import Catalog, load_registry, resolve
from routing.engine.doctor import Finding, examine
from routing.engine.doctor import findings as codes
from tests.engine.tools import document, endpoint, office, tool


def found(made: dict[str, Any], code: str) -> list[Finding]:
    return [one for one in examine(load_registry(made)).findings if one.code == code]


def clashing(**more: Any) -> dict[str, Any]:
    return document(
        endpoint(
            "invoices",
            tool("settle", "Close an open bill."),
            tool("archive", "Put documents away."),
            tool_use_when={"settle": ["pay the supplier of paper"]},
        ),
        endpoint(
            "bank",
            tool("transfer", "Move an amount between accounts."),
            tool("balance", "Tell how much is on an account."),
            tool_use_when={"transfer": ["pay the paper supplier"]},
        ),
        **more,
    )


# --- hints ------------------------------------------------------------------------------------------------------------
def test_two_hints_that_say_the_same_clash_and_the_words_are_named():
    (one,) = found(clashing(), codes.HINT_CLASH)

    assert {one.tool, *one.others} == {"invoices__settle", "bank__transfer"}
    assert set(one.words) == {"pay", "supplier", "paper"}
    assert one.severity == "high"


def test_a_clash_is_one_that_the_resolver_shows():
    (one,) = found(clashing(), codes.HINT_CLASH)
    hint = next(
        text for text in ("pay the supplier of paper", "pay the paper supplier") if f"“{text}” on" in one.message
    )

    assert resolve(load_registry(clashing()), hint)["ambiguous"]


def test_hints_that_share_words_and_yet_bring_their_tools_do_not_clash():
    made = clashing()
    made["endpoints"][1]["tool_use_when"] = {"transfer": ["send money abroad to the paper mill"]}

    assert found(made, codes.HINT_CLASH) == []


def test_tools_of_hints_that_no_scope_sees_together_do_not_clash():
    apart = [{"name": "default", "endpoints": ["bank"]}, {"name": "office", "endpoints": ["invoices"]}]

    assert found(clashing(scopes=apart), codes.HINT_CLASH) == []


def test_a_clash_in_a_narrow_scope_is_found_where_no_scope_sees_all():
    narrow = [{"name": "default", "endpoints": []}, {"name": "office", "endpoints": ["invoices", "bank"]}]

    (one,) = found(clashing(scopes=narrow), codes.HINT_CLASH)

    assert "scope office" in one.message


def test_a_hint_that_another_tool_answers_by_its_own_text_is_outdone():
    made = document(
        endpoint("memory", tool("keep", "Remember a thing."), tool_use_when={"keep": ["project"]}),
        endpoint("board", tool("project", "Show a project of the board and all that is known of the project.")),
    )

    (one,) = found(made, codes.HINT_OUTDONE)

    assert (one.tool, one.others, one.words) == ("memory__keep", ("board__project",), ("project",))
    assert one.path == "endpoints[0].tool_use_when.keep[0]"


def test_hints_of_two_endpoints_clash():
    made = document(
        endpoint("one", tool("alpha"), tool("beta"), use_when=["plan a holiday at the seaside"]),
        endpoint("two", tool("gamma"), tool("delta"), use_when=["plan a seaside holiday"]),
    )

    (one,) = found(made, codes.HINT_CLASH)

    assert one.path in ("endpoints[0].use_when[0]", "endpoints[1].use_when[0]")
    assert {"holiday", "seaside"} <= set(one.words)


def test_a_hint_under_a_key_that_meets_no_tool_can_be_moved_to_the_tool_that_was_meant():
    made = office()
    made["endpoints"][1]["tool_use_when"] = {"create_evnt": ["put a meeting on the agenda"]}

    (one,) = found(made, codes.HINT_WITHOUT_TOOL)

    assert one.suggestion.changes == {"tool_use_when": {"create_event": ["put a meeting on the agenda"]}}
    mended = load_registry(made).replace({**made["endpoints"][1], **one.suggestion.changes})
    assert not [one for one in examine(mended).findings if one.code == codes.HINT_WITHOUT_TOOL]


def test_a_hint_under_a_key_like_no_tool_can_be_taken_away():
    made = office()
    made["endpoints"][1]["tool_use_when"] = {"zzz": ["put a meeting on the agenda"], "list_events": ["see the week"]}

    (one,) = found(made, codes.HINT_WITHOUT_TOOL)

    assert one.suggestion.changes == {"tool_use_when": {"list_events": ["see the week"]}}


def test_tools_that_were_never_read_make_no_hint_an_orphan():
    unread = document({"name": "far", "kind": "mcp", "url": "https://far.example/mcp", "tool_use_when": {"x": ["see"]}})

    assert found(unread, codes.HINT_WITHOUT_TOOL) == []


def many(count: int, **more: Any) -> dict[str, Any]:
    """Endpoints whose tools all speak of records."""
    return document(
        *(endpoint(f"store{n}", tool(f"record_w{n}x", f"Keep the record of w{n}x.")) for n in range(count)), **more
    )


def test_a_hint_of_words_that_all_tools_hold_says_nothing():
    made = many(60)
    made["endpoints"][0]["tool_use_when"] = {"record_w0x": ["keep the record"]}

    (one,) = found(made, codes.HINT_SAYS_NOTHING)

    assert (one.tool, set(one.words)) == ("store0__record_w0x", {"keep", "record"})


def test_a_word_that_nearly_all_tools_hold_is_named_once_for_all_hints():
    made = many(60)
    for n in (0, 1):
        made["endpoints"][n]["tool_use_when"] = {f"record_w{n}x": [f"record what w{n}x brings"]}

    (one,) = found(made, codes.WORD_FOR_EVERYTHING)

    assert one.words == ("record",)
    assert "60 of 60 tools" in one.message


# --- tools ------------------------------------------------------------------------------------------------------------
def test_tools_that_say_the_very_same_are_told_once():
    same = tool("evaluate", "Run a script in the page.")
    (one,) = found(document(endpoint("b", same), endpoint("a", same), endpoint("c", same)), codes.ALIKE)

    assert {one.tool, *one.others} == {"a__evaluate", "b__evaluate", "c__evaluate"}


def test_tools_that_say_nearly_the_same_are_found():
    made = document(
        endpoint("b", tool("find_beer", "Find a beer brewed in Europe by its colour and by its country of origin.")),
        endpoint("a", tool("find_beer", "Find a beer brewed in Europe by its colour and by its country of origins.")),
        endpoint("c", tool("find_wine", "Find a wine by its grape.")),
    )

    (one,) = found(made, codes.ALIKE)

    assert {one.tool, *one.others} == {"a__find_beer", "b__find_beer"}


def test_a_tool_that_another_outdoes_with_all_its_words_is_never_first():
    made = document(
        endpoint("files", tool("move_file", "Movefile."), tool_use_when={"move_file": ["move a file", "movefile"]}),
        endpoint("shell", tool("move_file")),
    )

    (one,) = found(made, codes.TOOL_NEVER_FIRST)

    assert (one.tool, one.others) == ("shell__move_file", ("files__move_file",))
    assert resolve(load_registry(made), "move file")["recommendation"]["namespaced"] == "files__move_file"


def test_a_tool_of_the_default_scope_is_in_sight():
    assert found(office(), codes.TOOL_IN_NO_SCOPE) == []


def test_what_no_scope_permits_is_told_for_the_endpoint_as_a_whole():
    made = office(scopes=[{"name": "default", "endpoints": ["mail", "calendar"], "deny": ["calendar__delete_event"]}])

    names = {(one.name, one.tool) for one in found(made, codes.TOOL_IN_NO_SCOPE)}

    assert ("calendar", "calendar__delete_event") in names
    assert ("hitspec", "") in names


def test_a_tool_that_is_switched_off_is_missed_by_nobody():
    made = document(endpoint("a", tool("one", enabled=False), tool("two", "Say something.")), scopes=[])

    assert not [one for one in examine(load_registry(made)).findings if one.tool == "a__one"]


def test_empty_descriptions_weigh_less_where_a_hint_says_what_for():
    made = document(
        endpoint("a", tool("one"), tool("two"), description="Things.", tool_use_when={"two": ["count the sheep"]})
    )

    assert {(one.tool, one.severity) for one in found(made, codes.NO_DESCRIPTION)} == {
        ("a__one", "medium"),
        ("a__two", "low"),
    }


# --- capabilities, scopes, rules --------------------------------------------------------------------------------------
def test_capabilities_that_no_endpoint_has():
    made = office(capabilities=[{"name": "maths"}, {"name": "time"}, {"name": "old", "deprecated": True}])
    made["endpoints"][1]["capabilities"] = ["time"]

    assert [one.name for one in found(made, codes.CAPABILITY_UNUSED)] == ["maths"]


def test_an_empty_workspace_is_in_good_health():
    assert examine(load_registry({"version": 1, "capabilities": [{"name": "maths"}]})).findings == ()


def test_scopes_that_reach_nothing_and_those_whose_tools_are_off():
    made = office(scopes=[{"name": "none", "endpoints": []}, {"name": "away", "endpoints": ["mail"]}])
    made["endpoints"][2]["enabled"] = False

    assert {(one.name, one.severity) for one in found(made, codes.SCOPE_EMPTY)} == {
        ("none", "high"),
        ("away", "medium"),
    }


def test_a_rule_that_never_decides_can_be_taken_away():
    rules = [{"risk": "high", "verdict": "deny"}, {"risk": "high", "effect": "erase", "verdict": "ask"}]
    made = office(policies=[{"name": "default", "execution": {"rules": rules}}])

    (one,) = found(made, codes.RULE_NEVER)

    assert one.path == "policies[0].execution.rules[1]"
    assert one.suggestion.changes == {"execution": {"rules": rules[:1]}}


# --- whole ------------------------------------------------------------------------------------------------------------
def test_findings_of_the_demo_are_few_and_the_worst_come_first():
    examined = examine(load_registry(default_document()))
    order = [codes.SEVERITIES.index(one.severity) for one in examined.findings]

    assert order == sorted(order)
    assert {one.code for one in examined.findings} >= {codes.ALIKE, codes.HINT_CLASH, codes.NO_DESCRIPTION}
    assert examined.asked < len(load_registry(default_document()).index.docs)


def test_a_finding_keeps_its_key_while_other_things_are_edited():
    (one,) = found(clashing(), codes.HINT_CLASH)
    edited = clashing()
    edited["endpoints"].insert(0, endpoint("zoo", tool("feed", "Give hay to the elephants.")))
    edited["endpoints"][1]["description"] = "Bills of suppliers."

    (other,) = found(edited, codes.HINT_CLASH)

    assert other.key == one.key and other.path != one.path


def test_a_finding_has_another_key_once_its_hint_says_something_else():
    (one,) = found(clashing(), codes.HINT_CLASH)
    edited = clashing()
    edited["endpoints"][0]["tool_use_when"] = {"settle": ["pay the paper supplier"]}

    (other,) = found(edited, codes.HINT_CLASH)

    assert other.key != one.key


def test_what_there_is_no_time_to_ask_is_counted():
    examined = examine(load_registry(clashing()), most_asked=0)

    assert examined.unasked and not examined.asked
    assert not [one for one in examined.findings if one.code == codes.HINT_CLASH]


@pytest.mark.parametrize("code", [codes.HINT_CLASH, codes.HINT_OUTDONE])
def test_clashes_of_the_demo_hold_when_they_are_asked(code):
    catalog: Catalog = load_registry(default_document())
    for one in examine(catalog).findings:
        if one.code == code:
            hint = one.message.split("“")[1].split("”")[0]
            answer = resolve(catalog, hint)
            first = answer["recommendation"] and answer["recommendation"]["namespaced"]

            assert answer["status"] != "confident" or not first.startswith(one.tool or f"{one.name}__")
