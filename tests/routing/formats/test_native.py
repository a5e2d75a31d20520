"""Our own document: nothing is lost between values, YAML and JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from routing.engine.canonical import document_digest
from routing.engine.validation import parse_document, to_document
from routing.formats import read, write_json, write_yaml
from tests.engine.documents import documents


def in_order(value):
    """Mappings as pairs, so that their order is compared too."""
    if isinstance(value, dict):
        return [(key, in_order(content)) for key, content in value.items()]
    return [in_order(one) for one in value] if isinstance(value, list) else (type(value), value)


@given(documents())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_document_survives_values_and_yaml_and_json_with_its_order(document):
    written = to_document(parse_document(document).registry)

    assert written == document
    assert document_digest(written) == document_digest(document)
    for text in (write_yaml(written), write_json(written)):
        found = read(text)
        assert (found.format, found.problems) == ("switchyard", ())
        assert in_order(found.document) == in_order(written)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "null",
        "~",
        "1",
        "1.5",
        "1e3",
        "0x1f",
        "010",
        "1:30",
        "2026-01-31",
        "a: b",
        "- a",
        "#x",
        "",
        " x ",
        "a\nb",
        "a\n",
        "\n",
        "\ta\n  b",
        "x\u2028y",
        "é\u0085",
        "'",
        '"',
        "%",
        "@",
        "<<",
        "=",
        "|",
        "\x7f",
        "🜂",
    ],
)
def test_texts_that_look_like_something_else_stay_texts(text):
    document = {
        "version": 1,
        "endpoints": [
            {
                "name": "a",
                "kind": "declared",
                "description": text,
                "tools": [{"name": "t", "input_schema": {text: text}}],
            }
        ],
    }

    found = read(write_yaml(document))

    assert found.document["endpoints"][0].get("description", "") == text
    assert found.document["endpoints"][0]["tools"][0]["input_schema"] == {text: text}


def test_yaml_is_written_to_be_read_by_people():
    document = {
        "version": 1,
        "endpoints": [
            {
                "name": "a",
                "kind": "declared",
                "description": "One.\nTwo.",
                "tags": ["web", "http"],
                "use_when": ["x" * 50, "y" * 50],
            }
        ],
    }

    assert write_yaml(document) == (
        "version: 1\nendpoints:\n- name: a\n  kind: declared\n  description: |-\n    One.\n    Two.\n  tags: [web, http]\n"
        f"  use_when:\n  - {'x' * 50}\n  - {'y' * 50}\n"
    )


@given(st.text(st.sampled_from("a 😀𝒳👩\u200d💻\ue000\ue001é\\\n\":#'")))
def test_all_that_can_be_seen_is_written_as_it_is(text):
    document = {"version": 1, "endpoints": [{"name": "a", "kind": "declared", "description": text, "tags": ["😀"]}]}

    written = write_yaml(document)

    assert "tags: [😀]" in written
    assert not re.search(r"(?<!\\)(\\\\)*\\U000", written)
    assert [written.count(one) for one in "😀𝒳\ue000\ue001"] == [
        text.count("😀") + 1,
        *map(text.count, "𝒳\ue000\ue001"),
    ]
    assert read(written).document["endpoints"][0].get("description", "") == text


def test_a_code_that_is_spelled_out_stays_spelled_out():
    document = {"version": 1, "endpoints": [{"name": "a", "kind": "declared", "description": r"\U0001F600 is 😀"}]}

    written = write_yaml(document)

    assert r"description: \U0001F600 is 😀" in written
    assert read(written).document["endpoints"][0]["description"] == r"\U0001F600 is 😀"


def test_equal_parts_are_written_out_without_anchors():
    schema = {"type": "object"}

    assert "&" not in write_yaml({"version": 1, "task_rules": [schema, schema]})


def test_dates_stay_text():
    assert (
        read("version: 1\nendpoints: [{name: a, kind: declared, note: 2026-01-31}]").document["endpoints"][0]["note"]
        == "2026-01-31"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("version: 1\nversion: 1", "line 2, column 1: the key 'version' is given twice"),
        ('{"version": 1, "version": 1}', "'version' twice"),
        ("version: 1\nendpoints: [a", "line 2"),
        ("a: b: c", "line 1, column 5"),
        ('{"version": 1,', "line 1, column 15"),
        ("version: 1\n\tendpoints: []", "line 2"),
        ("a: *nope", "line 1"),
        ("a: !!python/object/apply:os.system [id]", "line 1"),
        ("? [a]\n: b", "line 1"),
        ("a: &a [*a]", "holds itself"),
        (b"\xff\xfe\xfa", "no UTF-8 text"),
        (b"\x7fELF\x00", "NUL"),
        ("[" * 100_000, "nested more than 100 levels"),
        ('{"a":' * 100_000, "nested more than 100 levels"),
        ("- " * 5_000 + "a", "nested more than 100 levels"),
        ("a = 1\n[b]\nc =", "no valid TOML"),
        ('{"a": NaN}', "NaN"),
        ('{"a": ' + "9" * 5000 + "}", "too long"),
        ("", "empty"),
        ("just words", "must be a mapping"),
        ("- a\n- b", "must be a mapping, not a list"),
        ("a: 1", "no known format"),
        ("x" * (16 * 1024 * 1024 + 1), "larger than 16 MiB"),
    ],
)
def test_content_that_cannot_be_read_is_refused_in_plain_words(content, words):
    found = read(content)

    assert found.document is None
    assert words in found.problems[0]["message"]


def test_anchors_that_multiply_are_refused_before_they_are_built():
    levels = "abcdefghijklmnop"
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{this}: &{this} [{', '.join([f'*{last}'] * 9)}]\n" for last, this in zip(levels, levels[1:], strict=False)
    )

    assert "holds more than" in read(bomb).problems[0]["message"]


def test_a_few_anchors_are_allowed():
    found = read("version: 1\ntask_rules:\n- &one {a: 1}\n- *one\n- {<<: *one, b: 2}")

    assert found.document["task_rules"] == [{"a": 1}, {"a": 1}, {"a": 1, "b": 2}]


def test_problems_stand_with_their_entries():
    found = read({"version": 1, "endpoints": [{"name": "good", "kind": "declared"}, {"name": "bad", "kind": "ftp"}]})

    assert [(entry["name"], entry["action"]) for entry in found.entries] == [("good", "added"), ("bad", "refused")]
    assert found.entries[1]["problems"][0]["path"] == "endpoints[1].kind"


def test_literal_secrets_are_reported_with_a_reference_and_returned_nowhere():
    canary = "canary-9f8e7d6c5b4a"
    found = read(
        {
            "version": 1,
            "endpoints": [
                {
                    "name": "web",
                    "kind": "mcp",
                    "url": f"https://u:{canary}@x.example",
                    "credential": canary,
                    "headers": {"X-Api-Key": canary},
                }
            ],
        }
    )

    assert canary not in repr(found)
    assert found.document is None
    assert {secret["path"]: secret["suggested"] for secret in found.secrets} == {
        "endpoints[0].url": "env:WEB_TOKEN",
        "endpoints[0].credential": "env:WEB_TOKEN",
        "endpoints[0].headers.X-Api-Key": "env:WEB_X_API_KEY",
    }


def test_tools_are_added_to_their_endpoints():
    document = "version: 1\nendpoints: [{name: web, kind: mcp, url: 'https://x.example'}]"
    listed = {
        "tools": [
            {"name": "fetch", "inputSchema": {"type": "object"}, "annotations": {"title": "Fetch"}, "_meta": {"a": 1}}
        ]
    }

    for content in ({"web": listed}, {"web": listed["tools"]}, listed, {"jsonrpc": "2.0", "id": 1, "result": listed}):
        tools = read(document, tools=json.dumps(content)).document["endpoints"][0]["tools"]
        assert tools == [
            {"name": "fetch", "title": "Fetch", "input_schema": {"type": "object"}, "annotations": {"title": "Fetch"}}
        ]


@pytest.mark.parametrize("content", ["[]", "{", '{"nope": []}', '{"web": 1}', '"x"'])
def test_a_list_of_tools_that_fits_nothing_is_a_problem(content):
    found = read("version: 1\nendpoints: [{name: web, kind: declared}]", tools=content)

    assert found.problems
    assert found.problems[0]["path"].startswith("tools")
