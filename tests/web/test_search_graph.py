"""The graph of a new search as rows: nothing that rows do not show is lost, and what is wrong stands beside its field."""

from __future__ import annotations

import html
import json
import re

import pytest

from control.web.search_graph import MOST_STATES, GraphRows, why_not
from routing.models import Decision

ADDRESS = "/w/acme/searches/new"
GRAPH = {
    "root_state": "start",
    "states": [
        {
            "id": "start",
            "goal": "g",
            "observation": "kept",
            "tools": [{"name": "go", "description": "kept too"}, {"name": "stay"}],
        },
        {"id": "end", "goal": "g", "value": 2},
    ],
    "transitions": [{"from_state": "start", "tool": "go", "to_state": "end", "reward": 1.5, "terminal": True}],
    "simulations": 64,
}


def fields(page: str) -> dict[str, str]:
    """What the form would send as it stands, its buttons left out."""
    found = {"search": html.unescape(re.search(r'<textarea name="search"[^>]*>(.*?)</textarea>', page, re.S)[1])}
    for tag in re.findall(r"<input[^>]*>", page):
        at = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if at.get("type") != "checkbox" or " checked" in tag:
            found[at["name"]] = html.unescape(at.get("value", "on"))
    return found | {"scope": "default"}


@pytest.fixture
def send(enter):
    client = enter("editor")

    def send(fields: dict[str, str], do: str) -> tuple[str, int]:
        response = client.post(ADDRESS, {**fields, "do": do})
        return response.content.decode(), response.status_code

    return send


def as_rows(send) -> dict[str, str]:
    page, status = send({"search": json.dumps(GRAPH), "scope": "default"}, "rows")
    assert status == 200
    return fields(page)


def graph_of(page: str) -> dict[str, object]:
    return json.loads(fields(page)["search"]) if 'name="as"' in page else json.loads(_text(page))


def _text(page: str) -> str:
    return html.unescape(re.search(r'<textarea class="area mono" id="f-text"[^>]*>(.*?)</textarea>', page, re.S)[1])


def test_to_rows_and_back_changes_nothing(send):
    given = as_rows(send)
    assert (given["s0-tools"], given["t0-reward"], given["t0-terminal"]) == ("go, stay", "1.5", "on")

    page, _ = send(given, "text")

    assert json.loads(_text(page)) == GRAPH


def test_a_renamed_state_takes_along_what_leads_to_it_and_tools_keep_their_words(send):
    given = as_rows(send) | {"s0-id": "first", "s0-tools": "go wait", "s1-value": "", "t0-reward": "2"}
    del given["t0-terminal"]

    graph = graph_of(send(given, "text")[0])

    assert graph["root_state"] == "first"
    assert graph["states"][0]["tools"] == [{"name": "go", "description": "kept too"}, {"name": "wait"}]
    assert graph["states"][0]["observation"] == "kept" and "value" not in graph["states"][1]
    assert graph["transitions"] == [
        {"from_state": "first", "tool": "go", "to_state": "end", "reward": 2.0, "terminal": False}
    ]


def test_rows_come_and_go_and_a_state_takes_its_transitions_along(send):
    given = as_rows(send)
    more = graph_of(send(given | {"s1-goal": "typed meanwhile"}, "add-state")[0])
    assert [state["id"] for state in more["states"]] == ["start", "end", ""]
    assert more["states"][1]["goal"] == more["states"][2]["goal"] == "typed meanwhile"

    assert len(graph_of(send(given, "add-transition")[0])["transitions"]) == 2
    assert graph_of(send(given, "drop-transition-0")[0])["transitions"] == []
    fewer = graph_of(send(given, "drop-state-1")[0])
    assert ([state["id"] for state in fewer["states"]], fewer["transitions"]) == (["start"], [])
    assert graph_of(send(given, "drop-state-9")[0]) == graph_of(send(given, "no-such-thing")[0])


def test_rows_are_searched(send):
    _, status = send(as_rows(send), "start")

    assert (status, Decision.objects.get().type) == (302, "search")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("t0-to_state", "nowhere", "no state has this id"),
        ("t0-reward", "a lot", "number"),
        ("s1-id", "", "must not be blank"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(send, field, value, told):
    page, status = send(as_rows(send) | {field: value}, "start")

    assert (status, Decision.objects.count()) == (422, 0)
    cell = re.search(rf'<td><input[^>]*id="{field}".*?</td>', page, re.S)[0]
    assert 'aria-invalid="true"' in cell and told in cell and f'value="{value}"' in cell


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"history": {}},
        {"states": [1]},
        {"states": [{"tools": "go"}]},
        {"states": [{"id": str(n)} for n in range(MOST_STATES + 1)]},
    ],
)
def test_what_is_no_short_graph_stays_text(send, document):
    assert why_not(document)

    page, status = send({"search": json.dumps(document), "scope": "default"}, "rows")

    assert (status, json.loads(_text(page))) == (422, document)


def test_there_is_a_last_row():
    rows = GraphRows({"states": [{"id": str(n)} for n in range(MOST_STATES)]})

    rows.change("add-state")

    assert len(rows.states) == MOST_STATES and rows.general


def test_a_graph_becomes_an_expectation_by_its_own_button(enter):
    graph = {key: GRAPH[key] for key in ("root_state", "states", "transitions")}
    given = {"search": json.dumps(GRAPH), "scope": "default", "kind": "search"}

    response = enter("editor").post("/w/acme/new/expectation", given)

    form = response.context["form"]
    assert (response.status_code, form.texts["kind"], json.loads(form.texts["search"])) == (200, "search", graph)
    assert "/w/acme/new/expectation" in enter("administrator").get(ADDRESS).content.decode()
