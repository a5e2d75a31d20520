"""Requests in other languages, in other scripts, mistyped, and in a language that nobody speaks."""

from __future__ import annotations

import random

import pytest

from routing.engine import load_registry, resolve
from routing.engine.catalog import Catalog
from tests.engine.tools import document, endpoint, tool

OFFICE = load_registry(
    document(
        endpoint("mail", tool("send_email", "Send an email message to a recipient.", effect="write")),
        endpoint("billing", tool("list_invoices", "List the invoices of a customer.", effect="read")),
        endpoint("files", tool("delete_file", "Delete a file from the disk.", effect="erase")),
        endpoint("sky", tool("weather_forecast", "The weather forecast of a city.", effect="read")),
        endpoint("words", tool("translate_text", "Translate a text into another language.", effect="read")),
        endpoint("diary", tool("create_event", "Create an event in the calendar.", effect="write")),
    )
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("envoie un courriel à mon équipe", "mail__send_email"),
        ("affiche les factures du client", "billing__list_invoices"),
        ("quel est le temps pour demain, je veux les prévisions", "sky__weather_forecast"),
        ("supprime le fichier", "files__delete_file"),
        ("zeige mir die Rechnungen des Kunden", "billing__list_invoices"),
        ("bitte lösche die Datei", "files__delete_file"),
        ("übersetze den Text bitte", "words__translate_text"),
        ("ich möchte einen Termin im Kalender erstellen", "diary__create_event"),
        ("mostre as faturas do cliente", "billing__list_invoices"),
        ("envie um email para a equipe", "mail__send_email"),
        ("crie um evento na agenda", "diary__create_event"),
        ("envía un correo a mi equipo", "mail__send_email"),
        ("translte the text", "words__translate_text"),
        ("show the invioces of the custmer", "billing__list_invoices"),
    ],
)
@pytest.mark.parametrize("tier", ["lexical", "static"])
def test_common_activities_are_understood_in_other_languages_and_when_mistyped(
    query: str, first: str, tier: str
) -> None:
    answer = resolve(OFFICE, query, tier=tier, explain=True)

    assert answer["explanation"]["candidates"][0]["namespaced"] == first


@pytest.mark.parametrize(
    ("query", "first"),
    [("東京の天気を教えて", "one__a"), ("请帮我查询航班信息", "one__b"), ("ช่วยจองโรงแรมในกรุงเทพ", "one__c")],
)
def test_scripts_without_spaces_are_read_by_pairs(query: str, first: str) -> None:
    found = document(
        endpoint(
            "one",
            tool("a", "指定した都市の天気予報を返す", effect="read"),
            tool("b", "查询航班的时间和价格", effect="read"),
            tool("c", "ค้นหาและจองโรงแรม", effect="write"),
        )
    )

    assert resolve(load_registry(found), query, explain=True)["explanation"]["candidates"][0]["namespaced"] == first


ENGLISH_WORDS = (
    "invoice customer weather forecast flight hotel recipe kitchen music guitar engine bridge garden flower museum painting "
    "passport border mortgage lawyer dentist hospital telescope planet volcano island castle knight pepper lemon tunnel harbor"
).split()
SYLLABLES = "ba ke lo mi nu pra sti vor zen qua fli gro tam wex hod jun".split()


def invented_words(rng: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(SYLLABLES) for _ in range(3))] = None
    return list(found)


def routed_right(words: list[str], rng: random.Random) -> float:
    """The share of requests, in words of its texts, that lead to the tool they were made for."""
    catalog, asked = catalog_of(words, rng)
    right = [
        resolve(catalog, query, explain=True)["explanation"]["candidates"][0]["namespaced"] == name
        for query, name in asked
    ]
    return sum(right) / len(right)


def catalog_of(words: list[str], rng: random.Random) -> tuple[Catalog, list[tuple[str, str]]]:
    made, asked = [], []
    for number in range(30):
        chosen = rng.sample(words, 5)
        made.append(endpoint(f"e{number}", tool("_".join(chosen[:2]), " ".join(chosen[2:]), effect="read")))
        asked.append((" ".join(rng.sample(chosen, 3)), f"e{number}__{'_'.join(chosen[:2])}"))
    return load_registry(document(*made)), asked


@pytest.mark.parametrize("seed", range(3))
def test_a_catalog_in_an_invented_language_is_routed_as_well_as_an_english_one(seed: int) -> None:
    invented = routed_right(invented_words(random.Random(seed), len(ENGLISH_WORDS)), random.Random(seed))
    english = routed_right(ENGLISH_WORDS, random.Random(seed))

    assert invented >= english - 0.1
    assert invented >= 0.8
