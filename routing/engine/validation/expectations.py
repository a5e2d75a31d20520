"""Reading expectations: what the document says must come out when it is asked."""

from __future__ import annotations

from typing import Any

from routing.engine.registry import Expectation
from routing.engine.validation.problems import Problems
from routing.engine.validation.reader import Reader, choice, integer, name, text
from routing.engine.validation.scopes import reference

STATUSES = ("confident", "ambiguous", "no_match")
CONFIDENCES = ("high", "medium", "low", "none")
TOOL_LISTS = ("recommendation_in", "not_recommended", "not_in_results", "not_confident_except")
TOP_LISTS = ("in_top_k", "not_in_top_k")


def read_expectation(value: object, path: str, problems: Problems) -> Expectation | None:
    r = Reader(value, path, problems)
    named = r.text("name", required=True, longest=256, lines=False)
    if named is not None and not named.strip():
        r.wrong("name", "must not be blank")
    asked = [key for key in ("query", "activity", "search") if r.raw(key) is not None]
    if len(asked) != 1:
        r.problems.add(
            path, "must ask exactly one of query, activity and search", allowed=["query", "activity", "search"]
        )
    expectation = Expectation(
        name=named or "",
        scope=r.text("scope", "default", longest=64, lines=False) or "",
        query=r.text("query"),
        activity=_read_activity(r),
        search=_read_search(r),
        max_hits=r.integer("max_hits"),
        offline=r.listed("offline", name),
        endpoint=r.text("endpoint", longest=64, lines=False),
        note=r.text("note"),
        expect=_read_expect(r, searching="search" in asked),
    )
    r.close()
    return expectation if named is not None else None


def _read_activity(r: Reader) -> dict[str, Any] | None:
    if r.raw("activity") is None:
        return None
    a = Reader(r.raw("activity"), r.at("activity"), r.problems)
    found: dict[str, Any] = {key: a.text(key, required=True) for key in ("goal", "phase", "activity")}
    found["outcome"] = a.text("outcome")
    found["input_kinds"] = list(a.texts("input_kinds")) or None
    a.close()
    return {key: content for key, content in found.items() if content is not None}


def _read_search(r: Reader) -> dict[str, Any] | None:
    if r.raw("search") is None:
        return None
    s = Reader(r.raw("search"), r.at("search"), r.problems)
    found: dict[str, Any] = {
        "root_state": s.text("root_state", required=True, longest=128, lines=False),
        "states": list(s.listed("states", _read_object, most=256)),
        "transitions": list(s.listed("transitions", _read_object, most=1024)),
        "max_depth": s.integer("max_depth", low=1),
    }
    if not s.given("states"):
        s.wrong("states", "is required")
    s.close()
    return {key: content for key, content in found.items() if content is not None}


def _read_object(value: object, path: str, problems: Problems) -> dict[str, Any] | None:
    holder = Reader({"value": value}, path, problems)
    found = holder.json_object("value", None)
    return None if found is None else dict(found)


def _read_expect(r: Reader, *, searching: bool) -> dict[str, Any]:
    if not r.given("expect"):
        r.wrong("expect", "is required")
        return {}
    e = Reader(r.raw("expect"), r.at("expect"), r.problems)
    found = _read_search_answer(e) if searching else _read_resolve_answer(e)
    note = e.text("note")
    e.close()
    if not found and not e.fields:
        r.problems.add(e.path, "must expect something")
    if note is not None:
        found["note"] = note
    return found


def _read_search_answer(e: Reader) -> dict[str, Any]:
    if not e.given("tool"):
        e.wrong("tool", "is required")
        return {}
    return {"tool": e.text("tool", longest=256, lines=False)}


def _read_resolve_answer(e: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if e.given("status"):
        found["status"] = list(e.listed("status", lambda v, p, ps: choice(v, STATUSES, p, ps)))
    if e.given("recommendation"):
        found["recommendation"] = e.text("recommendation", longest=400, lines=False)
    for key in TOOL_LISTS:
        if e.given(key):
            found[key] = list(e.listed(key, reference))
    for key in TOP_LISTS:
        if e.given(key):
            found[key] = _read_top(e, key)
    for key in ("ambiguous", "argument_template_truncated"):
        if e.given(key):
            found[key] = e.flag(key, False)
    if e.given("confidence_in"):
        found["confidence_in"] = list(e.listed("confidence_in", lambda v, p, ps: choice(v, CONFIDENCES, p, ps)))
    for key in ("reason_codes_include", "reason_codes_exclude"):
        if e.given(key):
            found[key] = list(e.texts(key))
    if e.given("required_fields"):
        found["required_fields"] = list(e.listed("required_fields", text))
    if e.given("alternatives_max"):
        found["alternatives_max"] = integer(e.raw("alternatives_max"), e.at("alternatives_max"), e.problems, low=0)
    return found


def _read_top(e: Reader, key: str) -> dict[str, Any]:
    t = Reader(e.raw(key), e.at(key), e.problems)
    if not t.given("k"):
        t.wrong("k", "is required", allowed="1 or more")
    if not t.given("tools"):
        t.wrong("tools", "is required")
    found = {"k": t.integer("k", 1, low=1), "tools": list(t.listed("tools", reference))}
    t.close()
    return found
