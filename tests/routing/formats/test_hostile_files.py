"""Files that are broken, huge or malicious: a clear sentence, no trace of the code, and never for long."""

from __future__ import annotations

import json
import time

import pytest

from routing.formats import FORMATS, read

SERVERS = {"mcpServers": {"a": {"url": "https://a.example/mcp"}}}


def said(content, **more):
    found = read(content, **more)
    assert found.document is None or not found.problems
    return found.problems[0]["message"] if found.problems else ""


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content", ["", "   \n", "[]", "3", '"text"', "null", "- a\n- b\n", b"\xff\xfe", "# a comment\n"]
)
def test_what_is_no_mapping_is_refused_in_a_sentence(format, content):
    assert said(content, format=format)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_byte_order_marks_and_line_ends_do_not_matter(encoding, newline):
    text = json.dumps(SERVERS, indent=2).replace("\n", newline)

    assert read(text.encode(encoding)).document["endpoints"][0]["name"] == "a"


def test_a_json_file_may_have_comments_and_places_of_errors_stay_right():
    good = '{ // a list\n /* of\n servers */ "mcpServers": {"a": {"url": "https://a.example/x//y,]", },},\n}'
    bad = '{\n  // a comment, with "quotes" and a comma ,}\n  "mcpServers": {"a" 1}\n}'

    assert read(good).document["endpoints"][0]["url"] == "https://a.example/x//y,]"
    assert "line 3, column 22" in said(bad)


@pytest.mark.parametrize(
    "content",
    [
        '{"mcpServers": {"a": {}, "a": {}}}',
        "servers:\n  a: {}\n  a: {}\n",
        "[mcp_servers.a]\nurl='x'\n[mcp_servers.a]\nurl='y'\n",
    ],
)
def test_keys_that_are_given_twice_are_refused(content):
    assert said(content)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('{"mcpServers":' * 5000 + "1" + "}" * 5000, "x.json"),
        ('{"a":' * 500 + "1" + "}" * 500, "x.json"),
        ("[" * 100_000, "x.json"),
        ("a: " + "[" * 5000, "x.yaml"),
        ("a" + ".a" * 5000 + " = 1", "x.toml"),
        ("a = " + "[" * 5000, "x.toml"),
    ],
)
def test_nesting_beyond_reason_is_refused(content, name):
    assert "nested" in said(content, filename=name) or "no valid" in said(content, filename=name)


def test_anchors_that_multiply_are_refused():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )

    assert "values" in said(bomb)


def many(format):
    number = range(10_000)
    if format == "mcp-json":
        return {"mcpServers": {f"server {n}!": {"url": "https://a.example/mcp", "odd": 1} for n in number}}
    if format == "harvey-routes":
        return {"enabled": True, "endpoints": [{"Name": f"R {n}", "URL": "ollama://a:1"} for n in number]}
    if format == "litellm":
        return {
            "model_list": [{"model_name": "same", "litellm_params": {"model": "openai/x", "rpm": 3}} for _ in number]
        }
    if format == "mcphub":
        return {"servers": {"!" * (n + 1): {"url": "https://a.example/mcp", "odd": 1} for n in range(3000)}}
    return {"version": 1, "endpoints": [{"name": f"e-{n}", "kind": "nothing"} for n in number]}


@pytest.mark.parametrize("format", FORMATS)
def test_ten_thousand_entries_are_read_in_bounded_time(format):
    content, start = many(format), time.process_time()

    found = read(content, format=format)

    assert time.process_time() - start < 20
    assert len(found.entries) >= 3000
    assert len(found.warnings) <= 2000


def test_names_that_all_become_the_same_take_no_longer():
    content = {
        "mcpServers": {"!" * (n % 97 + 1) + chr(0x4E00 + n): {"url": "https://a.example"} for n in range(10_000)}
    }
    start = time.process_time()

    assert len(read(content).document["endpoints"]) == 10_000
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "part",
    ["/* ", '\\"', '"', "// ", ",", "{", "[ /*", '"\\', "\n", "/*/", "& ", "? ", "- ", "!! ", "a = \n", "[[a]]\n"],
)
def test_no_text_takes_long_to_refuse(part):
    start = time.process_time()
    for lead in ("{", "", '{"', "/*"):
        said(lead + part * 20_000)
        said((lead + part * 20_000).encode(), filename="x.json")

    assert time.process_time() - start < 20
