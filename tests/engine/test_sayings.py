"""Synonyms and keywords of capabilities: a workspace's own words for what its tools do."""

from __future__ import annotations

from typing import Any

import pytest

from routing.engine import Catalog, load_registry, resolve
from tests.engine.tools import document, endpoint, tool

WEB = endpoint(
    "hitspec",
    tool("hitspec_fetch", "Request one address and return its body."),
    tool("hitspec_validate", "Check one request definition for mistakes."),
    capabilities=["web-fetch"],
)
MAIL = endpoint(
    "mail",
    tool("send_email", "Deliver a message."),
    tool("list_inbox", "Enumerate messages."),
    capabilities=["mailing"],
)


def catalog(*endpoints: dict[str, Any], scopes: tuple[dict[str, Any], ...] = (), **capability: Any) -> Catalog:
    found = {"name": "web-fetch", **capability}
    return load_registry(document(*(endpoints or (WEB, MAIL)), capabilities=[found], scopes=list(scopes)))


@pytest.mark.parametrize(
    ("synonym", "query"),
    [
        ("ophalen", "ophalen die pagina"),
        ("binnen halen", "die pagina binnen halen graag"),
        ("ウェブ取得", "このページをウェブ取得してください"),
        ("скачивание", "скачивание"),
        ("hämta", "HAMTA"),
        ("slurp", "slurp the https://example.com/invoice/mail page"),
    ],
)
def test_a_synonym_stands_for_the_tools_of_its_capability_in_any_script(synonym: str, query: str) -> None:
    answer = resolve(catalog(synonyms=[synonym]), query, explain=True, tier="lexical")

    first = answer["explanation"]["candidates"][0]
    assert first["namespaced"] == "hitspec__fetch"
    assert {"synonym"} == {one["match"] for one in first["contributions"] if one["field"] in ("tags", "tool_use_when")}
    assert resolve(catalog(), query, tier="lexical")["match_probability"] < answer["match_probability"]


def test_a_keyword_leads_to_the_endpoint_and_less_surely_than_a_synonym() -> None:
    by = {
        kind: resolve(catalog(**{kind: ["ophalen"]}), "ophalen", explain=True, tier="lexical")
        for kind in ("synonyms", "keywords")
    }

    scores = {
        kind: {one["namespaced"]: one["score"] for one in told["explanation"]["candidates"]}
        for kind, told in by.items()
    }
    assert scores["keywords"].keys() == {"hitspec__fetch", "hitspec__validate"}
    assert scores["keywords"]["hitspec__fetch"] == scores["keywords"]["hitspec__validate"]
    assert scores["synonyms"]["hitspec__fetch"] > scores["synonyms"]["hitspec__validate"]
    assert scores["synonyms"]["hitspec__validate"] > scores["keywords"]["hitspec__validate"]


def test_no_number_of_sayings_outweighs_the_name_of_a_tool() -> None:
    greedy = catalog(WEB, MAIL, synonyms=["send", "email", "send email", "send_email", "e-mail"], keywords=["email"])

    answer = resolve(greedy, "send an email")

    assert (answer["status"], answer["recommendation"]["namespaced"]) == ("confident", "mail__send_email")


def test_many_synonyms_weaken_none() -> None:
    few, many = (
        resolve(catalog(synonyms=words), "ophalen", explain=True, tier="lexical")["explanation"]["candidates"][0]
        for words in (["ophalen"], ["ophalen", *(f"woord{'abcdefghij'[n]}" for n in range(10))])
    )

    assert few["score"] == many["score"]


def test_the_level_of_an_endpoint_in_a_capability_is_the_weight_of_its_words() -> None:
    weak = {**WEB, "name": "other", "capabilities": [{"name": "web-fetch", "level": 0.4}]}
    none = {**WEB, "name": "third", "capabilities": [{"name": "web-fetch", "level": 0}]}

    answer = resolve(catalog(WEB, weak, none, synonyms=["ophalen"]), "ophalen", explain=True, tier="lexical")

    told = {one["namespaced"]: one["score"] for one in answer["explanation"]["candidates"]}
    assert told["hitspec__fetch"] > told["other__hitspec_fetch"] > 0
    assert "third__hitspec_fetch" not in told


def test_words_for_a_capability_outside_a_scope_are_unknown_in_it() -> None:
    scopes = ({"name": "writers", "endpoints": ["mail"]},)
    with_words, without = catalog(scopes=scopes, synonyms=["ophalen"]), catalog(scopes=scopes)

    assert with_words.revision("writers") == without.revision("writers")
    assert with_words.revision("default") != without.revision("default")
    assert resolve(with_words, "ophalen message", scope="writers", explain=True) == resolve(
        without, "ophalen message", scope="writers", explain=True
    )


def test_a_catalog_that_is_made_from_another_learns_new_words() -> None:
    before = catalog()

    after = load_registry(
        document(WEB, MAIL, capabilities=[{"name": "web-fetch", "synonyms": ["ophalen"]}]), previous=before
    )

    assert resolve(after, "ophalen")["recommendation"]["namespaced"] == "hitspec__fetch"
    assert after.index.parts[1] is before.index.parts[1]  # mail has nothing to do with it


def test_the_order_of_words_and_capabilities_says_nothing() -> None:
    one = catalog(synonyms=["ophalen", "binnenhalen"], keywords=["pagina", "adres"])
    other = catalog(synonyms=["binnenhalen", "ophalen"], keywords=["adres", "pagina"])

    assert one.revision("default") == other.revision("default")
    assert resolve(one, "pagina ophalen", explain=True) == resolve(other, "pagina ophalen", explain=True)
