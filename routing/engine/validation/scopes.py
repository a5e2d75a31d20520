"""Reading who may see what: the gateway's defaults, groups, scopes, capabilities and provider accounts."""

from __future__ import annotations

from typing import Any

from routing.engine.registry import Capability, Gateway, Provider, Scope
from routing.engine.validation.endpoints import read_credential, read_url
from routing.engine.validation.problems import Problems
from routing.engine.validation.reader import Reader, choice, items, name, pairs, short_text, text

EXPOSURES = ("lazy", "all")
PROVIDER_KINDS = ("local", "openrouter", "typesafe", "compatible")
SENT = ("goal", "observation", "last_action", "recent_actions", "constraints", "descriptions")
LEAST_BUDGET = 512

# What a provider account of a kind is when the document does not say otherwise.
PROVIDER_DEFAULTS: dict[str, dict[str, str]] = {
    "openrouter": {"url": "https://openrouter.ai", "path": "/api/alpha/decisions"},
}
DEFAULT_CREDENTIAL = "env:OPENROUTER_API_KEY"


def reference(value: object, path: str, problems: Problems) -> str | None:
    """The name of an endpoint, a tool, a group or a pin; whether it exists is checked when all are known."""
    return text(value, path, problems, longest=400, lines=False)


def read_gateway(value: object, path: str, problems: Problems) -> Gateway:
    r = Reader(value, path, problems)
    budget = r.integer("response_budget_bytes", 32768, low=0)
    if budget is not None and 0 < budget < LEAST_BUDGET:
        r.wrong("response_budget_bytes", "must be 0 (off) or 512 and more", value=budget, allowed="0, or 512 or more")
        budget = None
    gateway = Gateway(
        expose=r.choice("expose", EXPOSURES, "lazy") or "lazy",
        pins=r.listed("pins", reference),
        connect_timeout_s=r.number("connect_timeout_s", 30, above=0) or 30,
        call_timeout_s=r.number("call_timeout_s", 1800, above=0) or 1800,
        response_budget_bytes=32768 if budget is None else budget,
        verbatim=r.flag("verbatim", False),
    )
    r.close()
    return gateway


def read_groups(value: object, path: str, problems: Problems) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group, members, place in pairs(value, path, problems):
        if name(group, place, problems) is not None:
            found[group] = items(members, place, problems, reference)
    return found


def read_provider(value: object, path: str, problems: Problems) -> Provider | None:
    r = Reader(value, path, problems)
    named = r.name("name", required=True)
    kind = r.choice("kind", PROVIDER_KINDS, required=True) or "local"
    usual = PROVIDER_DEFAULTS.get(kind, {})
    if named == "local" and kind != "local":
        r.wrong("name", "the provider local always exists and is of kind local", value=named)
    if kind == "compatible" and r.raw("url") is None:
        r.wrong("url", "is required for kind compatible")
    if kind == "local" and r.raw("credential") is not None:
        r.wrong("credential", "a local provider needs no credential", secret=True)
    provider = Provider(
        name=named or "",
        kind=kind,
        url=read_url(r, default=usual.get("url")),
        path=_read_path(r, usual.get("path")),
        model=r.text("model", "typesafe/jev-1.13", longest=256, lines=False) or "",
        credential=read_credential(r) or (None if kind == "local" else DEFAULT_CREDENTIAL),
        timeout_s=r.number("timeout_s", 5, above=0) or 5,
        max_retries=_whole(r, "max_retries", 2, 0, 5),
        hedge_after_s=r.number("hedge_after_s", above=0),
        confidence=r.choice("confidence", ("reported", "peak"), "reported") or "reported",
        max_connections=_whole(r, "max_connections", 16, 1),
        breaker_failures=_whole(r, "breaker_failures", 5, 1),
        breaker_open_s=_seconds(r, "breaker_open_s", 30),
        send=_read_sent(r),
    )
    r.close()
    return provider if named is not None else None


def _read_path(r: Reader, usual: str | None) -> str | None:
    path = r.text("path", usual, longest=512, lines=False)
    if path is not None and not path.startswith("/"):
        r.wrong("path", "must start with a slash", value=path, allowed="/…")
    return path


def _read_sent(r: Reader) -> tuple[str, ...]:
    return r.items("send", lambda v, p, ps: choice(v, SENT, p, ps), SENT) or ()


def _whole(r: Reader, key: str, default: int, low: int, high: int | None = None) -> int:
    value = r.integer(key, default, low=low, high=high)
    return default if value is None else value


def _seconds(r: Reader, key: str, default: float) -> float:
    value = r.number(key, default, low=0)
    return default if value is None else value


def read_capability(value: object, path: str, problems: Problems) -> Capability | None:
    r = Reader(value, path, problems)
    named = r.name("name", required=True)
    capability = Capability(
        name=named or "",
        description=r.words("description"),
        synonyms=r.texts("synonyms"),
        keywords=r.texts("keywords"),
        prefer=r.listed("prefer", reference),
        deprecated=r.flag("deprecated", False),
        replaced_by=r.name("replaced_by"),
    )
    r.close()
    return capability if named is not None else None


def read_scope(value: object, path: str, problems: Problems) -> Scope | None:
    r = Reader(value, path, problems)
    named = r.name("name", required=True)
    scope = Scope(
        name=named or "",
        endpoints=r.items("endpoints", reference, None),
        tools=r.items("tools", reference, None),
        deny=r.listed("deny", reference),
        pins=r.items("pins", reference, None),
        mode=r.choice("mode", ("gateway", "direct"), "gateway") or "gateway",
        expose=r.choice("expose", EXPOSURES),
        tool_schema_budget_bytes=r.integer("tool_schema_budget_bytes", low=0),
        policy=r.name("policy", "default") or "default",
        policies=r.items("policies", name, None),
        data_zones=r.items("data_zones", short_text, None),
        default_endpoint=r.text("default_endpoint", longest=400, lines=False),
        harness=_read_harness(r),
    )
    r.close()
    return scope if named is not None else None


def _read_harness(r: Reader) -> dict[str, Any] | None:
    if r.raw("harness") is None:
        return None
    h = Reader(r.raw("harness"), r.at("harness"), r.problems)
    found: dict[str, Any] = {
        "type": h.text("type", longest=64, lines=False),
        "path": h.text("path", longest=4096, lines=False),
        "disabled": h.flag("disabled", False) or None,
    }
    h.close()
    return {key: content for key, content in found.items() if content is not None}
