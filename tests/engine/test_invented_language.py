"""A catalog in a language that nobody speaks is routed as well as the same catalog in English."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from routing.engine import load_registry, resolve
from tests.engine.tools import document, endpoint, tool

# (endpoint, tool, description, hint, requests that it should get)
OFFICE = [
    ("calendar", "create_event", "put an appointment on the agenda", "arrange a meeting with colleagues", ["arrange a meeting with the team for tuesday", "put an appointment on my agenda"]),
    ("calendar", "list_events", "enumerate appointments between two dates", "see what is on the agenda", ["what is on the agenda between these dates", "enumerate the appointments of the week"]),
    ("calendar", "find_slot", "look for free time of several people", "find an hour when everybody is free", ["find an hour when all people are free", "look for free time on tuesday"]),
    ("mail", "send_letter", "deliver a message to its recipients", "write to a customer", ["write a message to the customer", "deliver the letter to its recipients"]),
    ("mail", "search_inbox", "search received messages by sender or subject", "find an old letter", ["search the inbox for the subject", "find the old letter of this sender"]),
    ("database", "run_query", "answer a question with rows of tables", "count rows that fulfil a condition", ["count the rows that fulfil this condition", "answer the question with rows of the tables"]),
    ("database", "list_tables", "enumerate the tables of a schema with their columns", "see which columns exist", ["which columns exist in this schema", "enumerate the tables"]),
    ("code", "search_symbols", "search definitions of functions in source code", "find where a function is defined", ["find where this function is defined", "search the source code for the definition"]),
    ("code", "rename_symbol", "rename a function everywhere in the source code", "give a function another name", ["give this function another name everywhere", "rename the function in the code"]),
    ("weather", "forecast", "expected rain and temperature of a town", "know whether it will rain", ["will it rain in the town tomorrow", "the expected temperature of the town"]),
    ("invoices", "make_invoice", "make an invoice from delivered hours", "bill a customer for hours", ["bill the customer for the hours of may", "make an invoice"]),
    ("invoices", "find_unpaid", "find unpaid bills older than a month", "know who owes money", ["who owes us money", "find the bills that are unpaid"]),
    ("images", "resize_picture", "make a picture smaller or larger", "shrink a photo", ["shrink this photo for the page", "make the picture larger"]),
    ("images", "read_text", "recognise printed words in a picture", "read words off a scan", ["read the words off the scan", "recognise the printed words"]),
    ("files", "copy_folder", "duplicate a folder with all that is inside", "keep a second folder of the work", ["duplicate the folder with all inside", "keep a second folder"]),
    ("travel", "book_train", "reserve seats in a train", "go somewhere by train", ["reserve two seats in the train", "go to the sea by train"]),
]  # fmt: skip
CHATTER = [
    "paint the ceiling yellow",
    "knit woollen socks for grandmother",
    "the goalkeeper limped away",
    "peel the potatoes before supper",
]
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in ("a", "e", "i", "o", "u", "ai", "ou")]
Say = Callable[[str], str]


def english(text: str) -> str:
    return text


def invented(seed: int) -> Say:
    """Each word of English is one word of three or four random syllables; nothing of its form is kept."""
    chance = random.Random(seed)
    known: dict[str, str] = {}

    def word(match: re.Match[str]) -> str:
        said = match.group().lower()
        while said not in known:
            made = "".join(chance.choices(SYLLABLES, k=chance.choice([3, 3, 4])))
            if made not in known.values():
                known[said] = made
        return known[said]

    return lambda text: re.sub(r"[A-Za-z]+", word, text)


def catalog(say: Say) -> Any:
    endpoints: dict[str, dict[str, Any]] = {}
    for name, wire, description, hint, _ in OFFICE:
        one = endpoints.setdefault(name, endpoint(say(name), tool_use_when={}))
        one["tools"].append(tool(say(wire), say(description)))
        one["tool_use_when"][say(wire)] = [say(hint)]
    return load_registry(document(*endpoints.values()))


@dataclass(frozen=True, kw_only=True)
class Routed:
    first: int  # requests whose tool comes first
    confident: int  # of them
    offered: int  # chatter that is offered a tool
    followed: int  # chatter that is confident of one


def routed(say: Say, tier: str) -> Routed:
    made = catalog(say)
    first = confident = 0
    for name, wire, _, _, requests in OFFICE:
        for request in requests:
            answer = resolve(made, say(request), explain=True, tier=tier)
            ranked = answer["explanation"]["candidates"]
            if ranked and ranked[0]["namespaced"] == f"{say(name)}__{say(wire)}":
                first += 1
                confident += answer["status"] == "confident"
    statuses = [resolve(made, say(text), tier=tier)["status"] for text in CHATTER]
    return Routed(
        first=first,
        confident=confident,
        offered=len(CHATTER) - statuses.count("no_match"),
        followed=statuses.count("confident"),
    )


@pytest.mark.parametrize("tier", ["lexical", "static"])
@pytest.mark.parametrize("seed", range(3))
def test_an_invented_language_is_routed_as_well_as_english(seed: int, tier: str) -> None:
    spoken, made_up = routed(english, tier), routed(invented(seed), tier)

    assert made_up.first >= spoken.first >= 30
    assert made_up.confident >= 0.85 * spoken.confident
    assert made_up.followed == 0
    assert made_up.offered <= spoken.offered + 1  # by chance a word of nobody is made of two that somebody speaks
