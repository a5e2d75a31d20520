"""From a ranking to a verdict."""

from __future__ import annotations

import pytest

from routing.engine import load_registry, resolve
from tests.engine.tools import document, endpoint, office, office_catalog, tool


def test_a_clear_request_is_confident() -> None:
    answer = resolve(office_catalog(), "fetch https://example.com/guide as Markdown")

    assert (answer["status"], answer["recommendation"]["namespaced"]) == ("confident", "hitspec__fetch")
    assert answer["probability"] >= 0.8


def test_small_talk_is_answered_with_nothing() -> None:
    answer = resolve(office_catalog(), "hello, how are you?")

    assert (answer["status"], answer["recommendation"], answer["reason_codes"]) == ("no_match", None, ["not_a_request"])


@pytest.mark.parametrize("query", ["", "   ", "the of and", "?!", "x", "what is 2 + 2"])
def test_nothing_to_go_by_is_too_generic(query: str) -> None:
    answer = resolve(office_catalog(), query)

    assert answer["reason_codes"] == ["query_too_generic"]
    assert (answer["probability"], answer["match_probability"]) == (0, 0)


def test_a_word_that_no_tool_knows_overlaps_with_nothing() -> None:
    assert resolve(office_catalog(), "knit socks")["reason_codes"] == ["no_lexical_overlap"]


def test_equal_tools_tie_with_a_gap_of_nothing() -> None:
    catalog = load_registry(
        document(endpoint("beta", tool("probe", "Look at it.")), endpoint("alpha", tool("probe", "Look at it.")))
    )

    answer = resolve(catalog, "probe")

    assert answer["status"] == "ambiguous"
    assert {"score_tie", "functional_twins"} <= set(answer["reason_codes"])
    assert answer["score_gap"] == 0
    assert answer["recommendation"]["namespaced"] == "alpha__probe"


@pytest.mark.parametrize("query", ["pay the supplier of paper", "pay the paper supplier"])
def test_tools_whose_hints_say_just_the_same_are_twins_to_the_operator(query: str) -> None:
    settle = endpoint(
        "invoices", tool("settle", "Close an open bill."), tool_use_when={"settle": ["pay the paper supplier"]}
    )
    transfer = endpoint(
        "bank", tool("transfer", "Move money."), tool_use_when={"transfer": ["pay the supplier of paper"]}
    )

    answer = resolve(load_registry(document(settle, transfer)), query)
    alone = resolve(load_registry(document(settle, endpoint("bank", tool("transfer", "Move money.")))), query)

    assert (answer["status"], "functional_twins" in answer["reason_codes"]) == ("ambiguous", True)
    assert (alone["status"], alone["recommendation"]["namespaced"]) == ("confident", "invoices__settle")


def test_an_erasing_tool_is_not_first_on_a_tie() -> None:
    catalog = load_registry(
        document(endpoint("store", tool("drop_blob", effect="erase"), tool("take_blob", effect="read")))
    )

    assert resolve(catalog, "something with the blob")["recommendation"]["namespaced"] == "store__take_blob"


def test_an_erasing_tool_is_not_confident_on_one_word() -> None:
    catalog = load_registry(document(endpoint("store", tool("purge_everything", "Empty the store.", effect="erase"))))

    answer = resolve(catalog, "purge")

    assert answer["status"] == "ambiguous"
    assert "effect_guard" in answer["reason_codes"]


def test_an_erasing_tool_may_be_called_by_its_whole_name() -> None:
    assert resolve(office_catalog(), "delete_event")["status"] == "confident"


def test_a_forbidden_action_is_not_recommended() -> None:
    answer = resolve(office_catalog(), "show the events but do not delete them")

    assert answer["recommendation"]["namespaced"] == "calendar__list_events"


def test_an_action_that_another_tool_does_is_not_passed_over() -> None:
    catalog = load_registry(
        document(
            endpoint("billing", tool("list_invoice", "Enumerate the invoices of a customer.")),
            endpoint("mail", tool("send_email", "Deliver a message.")),
        )
    )

    assert resolve(catalog, "email the invoice to the customer")["status"] != "confident"


def test_a_better_tool_that_is_away_is_reported_and_not_offered() -> None:
    answer = resolve(office_catalog(offline=("mail",)), "send an email message to the recipients")

    assert "best_candidate_unavailable" in answer["reason_codes"]
    assert answer["status"] != "confident"
    shown = [answer["recommendation"], *answer["alternatives"]]
    assert not any(one["server"] == "mail" for one in shown if one)


@pytest.mark.parametrize("off", [{"enabled": False}, {}])
def test_switched_off_counts_as_away(off: dict[str, bool]) -> None:
    registry = office()
    mail = next(one for one in registry["endpoints"] if one["name"] == "mail")
    mail.update(off)
    if not off:
        mail["tools"][0]["enabled"] = False

    assert (
        "best_candidate_unavailable"
        in resolve(load_registry(registry), "send an email message to the recipients")["reason_codes"]
    )


def test_a_tool_that_is_away_changes_nothing_else_in_the_answer() -> None:
    registry = office()
    registry["endpoints"] = [one for one in registry["endpoints"] if one["name"] != "mail"]
    query = "list the appointments of the calendar"

    assert resolve(office_catalog(offline=("mail",)), query) == resolve(load_registry(registry), query)


def test_a_policy_moves_the_bar() -> None:
    policies = [{"name": "default", "resolver": {"confident_at": 0.9999}}]

    answer = resolve(office_catalog(policies=policies), "fetch https://example.com/guide as Markdown")

    assert (answer["status"], answer["reason_codes"]) == ("ambiguous", ["low_probability"])


def test_a_policy_may_ask_more_of_one_effect() -> None:
    policies = [{"name": "default", "resolver": {"risk_at": {"erase": 0.9999}}}]

    assert resolve(office_catalog(policies=policies), "delete_event")["status"] == "ambiguous"
    assert resolve(office_catalog(policies=policies), "list_events")["status"] == "confident"


def test_a_hint_outranks_what_a_server_says_of_itself() -> None:
    catalog = load_registry(
        document(
            endpoint("one", tool("alpha", "Estimate the blast radius of a change.")),
            endpoint(
                "two",
                tool("beta", "Does something."),
                tool_use_when={"beta": ["estimate the blast radius of a change"]},
            ),
        )
    )

    assert resolve(catalog, "estimate the blast radius")["recommendation"]["namespaced"] == "two__beta"


def test_listing_every_word_gains_nothing() -> None:
    registry = office()
    everything = (
        "fetch web page Markdown plan search save email calendar event invoice database query weather forecast " * 4
    )
    registry["endpoints"].append(
        endpoint("omni", tool("do_anything", everything), description=everything, tags=everything.split()[:20])
    )

    for query, wanted in (("fetch this URL as Markdown", "hitspec__fetch"), ("send an email", "mail__send_email")):
        assert resolve(load_registry(registry), query)["recommendation"]["namespaced"] == wanted


def test_two_tools_of_one_name_are_twins_until_the_request_tells_them_apart() -> None:
    catalog = load_registry(
        document(
            endpoint("disk", tool("read_file", "Return the contents of one file.")),
            endpoint("remote", tool("readFile", "Give back what one file contains, as text.")),
            endpoint("weather", tool("forecast", "Give the expected rain for a town.")),
        )
    )

    asked, told = resolve(catalog, "read a file"), resolve(catalog, "read a file from the remote disk: remote readFile")

    assert asked["status"] == "ambiguous" and "functional_twins" in asked["reason_codes"]
    assert told["recommendation"]["namespaced"] == "remote__readFile"
