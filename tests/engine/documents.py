"""Registry documents made at random, valid and in their shortest form."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from routing.engine.validation.reader import is_name
from routing.engine.validation.visible import is_blank

names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,11}", fullmatch=True).filter(is_name)
# No NUL, no lone surrogates: neither can be stored.
characters = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
texts = st.text(characters, max_size=60)
# One line that can be seen: no control or format characters, which validation refuses there.
seen = st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp"))
lines = st.text(seen, min_size=1, max_size=40).filter(lambda text: text.strip() and not is_blank(text))
shares = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 4))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(characters, max_size=8), inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(characters, max_size=8), json_values, min_size=1, max_size=3)


def some(required: dict[str, Any], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


tools = some(
    {"name": st.text(seen, min_size=1, max_size=20).filter(lambda text: not is_blank(text))},
    title=lines,
    description=texts.filter(bool),
    input_schema=json_objects,
    output_schema=json_objects,
    annotations=json_objects,
    category=lines,
    risk=st.sampled_from(["low", "medium", "high", "critical"]),
    effect=st.sampled_from(["read", "write", "erase", "execute"]),
    enabled=st.just(False),
)

endpoint_fields = {
    "title": lines,
    "credential": st.sampled_from(["env:TOKEN", "vault:team/key"]),
    "headers": st.dictionaries(st.sampled_from(["Accept", "X-Team", "Authorization"]), st.just("env:A"), min_size=1),
    "enabled": st.just(False),
    "description": texts.filter(bool),
    "tags": st.lists(lines, min_size=1, max_size=3),
    "capabilities": st.lists(names, min_size=1, max_size=3),
    "use_when": st.lists(lines, min_size=1, max_size=3),
    "tools": st.lists(tools, min_size=1, max_size=4, unique_by=lambda tool: tool["name"]),
    "cost_in": st.floats(0.001, 100).map(lambda value: round(value, 3)).filter(lambda value: not value.is_integer()),
    "priority": st.integers(0, 99),
    "note": lines,
}

policies = some(
    {"name": names},
    routing=st.sampled_from(["capability", "advise"]),
    resolver=some(
        {"max_hits": st.integers(1, 4)}, risk_at=st.dictionaries(st.sampled_from(["read", "erase"]), shares, min_size=1)
    ),
    router=st.fixed_dictionaries({"candidates": st.integers(25, 254)}),
    execution=st.fixed_dictionaries(
        {
            "rules": st.lists(
                some({"verdict": st.sampled_from(["allow", "ask", "deny"])}, min_confidence=shares, tool=lines),
                min_size=1,
                max_size=2,
            )
        }
    ),
)


def _unique(strategy: st.SearchStrategy[dict[str, Any]], most: int = 3) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(strategy, min_size=1, max_size=most, unique_by=lambda one: one["name"])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Parts refer to each other only by names that exist."""
    endpoints = draw(_unique(some({"name": names, "kind": st.just("declared")}, **endpoint_fields)))
    known = st.sampled_from([endpoint["name"] for endpoint in endpoints])
    groups = draw(st.dictionaries(names, st.lists(known, max_size=3), max_size=2))
    references = known | st.sampled_from([f"group:{group}" for group in groups]) if groups else known
    scopes = _unique(
        some(
            {"name": names},
            endpoints=st.lists(references, max_size=3),
            tools=st.just([]),
            pins=st.lists(known, max_size=2),
            deny=st.lists(known, min_size=1, max_size=2),
        )
    )
    document = draw(
        st.fixed_dictionaries(
            {"version": st.just(1)},
            optional={
                "gateway": st.fixed_dictionaries(
                    {"expose": st.just("all")}, optional={"pins": st.lists(known, min_size=1, max_size=2)}
                ),
                "capabilities": _unique(
                    some(
                        {"name": names},
                        description=texts.filter(bool),
                        synonyms=st.lists(lines, min_size=1),
                        prefer=st.lists(known, min_size=1),
                    )
                ),
                "scopes": scopes,
                "policies": _unique(policies),
                "task_rules": st.lists(json_objects, min_size=1, max_size=2),
                "expectations": _unique(
                    some(
                        {"name": names, "query": texts, "expect": some({"ambiguous": st.booleans()}, note=texts)},
                        offline=st.lists(known, min_size=1),
                        max_hits=st.integers(0, 9),
                    )
                ),
            },
        )
    )
    return {**document, "endpoints": endpoints, **({"groups": groups} if groups else {})}
