"""Reading endpoints: what they are, where they are, their tools and the operator's hints."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from routing.engine.policies import RISKS
from routing.engine.registry import TRAITS, Endpoint, EndpointCapability, JsonObject, Tool
from routing.engine.secrets import REFERENCE_FORMS, is_reference, looks_like_a_secret, names_a_secret, url_secret
from routing.engine.validation.adapters import read_adapter
from routing.engine.validation.policies import read_effect
from routing.engine.validation.problems import Problems, child
from routing.engine.validation.reader import Reader, choice, items, kind_of, name, text
from routing.engine.validation.visible import fault_of_line, is_blank

MODEL_KINDS = ("openai", "ollama", "llamafile", "llamacpp", "anthropic", "deepseek", "gemini", "mistral")
KINDS = ("mcp", "declared", *MODEL_KINDS)
TOOL_TIERS = ("structured", "adapter", "prose", "none")
PROVENANCES = ("declared", "probed", "measured")
FEATURES = (
    "streaming",
    "json_schema",
    "grammar",
    "logprobs",
    "vision",
    "embeddings",
    "parallel_tools",
    "lora_per_request",
)
MAX_HINTS, MAX_HINT_BYTES, MAX_HINT_KEYS = 8, 256, 128

_LAUNCH = re.compile(r"host:[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_HEADER_RULE = f"a reference ({REFERENCE_FORMS}) or a literal that is no secret"


def read_endpoint(value: object, path: str, problems: Problems) -> Endpoint | None:
    r = Reader(value, path, problems)
    named = r.name("name", required=True)
    title = r.text("title", lines=False)
    kind = r.choice("kind", KINDS, required=True)
    window = r.integer("context_window", low=1)
    endpoint = Endpoint(
        name=named or "",
        title=title,
        kind=kind or "declared",
        url=read_url(r),
        transport=r.choice("transport", ("http", "sse"), "http") or "http",
        launch=_read_launch(r),
        credential=read_credential(r),
        headers=_read_headers(r),
        enabled=r.flag("enabled", True),
        description=r.words("description"),
        tags=r.texts("tags"),
        capabilities=r.listed("capabilities", _read_capability),
        use_when=r.listed("use_when", read_hint, most=MAX_HINTS),
        tool_use_when=r.mapping("tool_use_when", _read_hints, most=MAX_HINT_KEYS),
        tools=_read_tools(r),
        model=r.text("model", longest=256, lines=False),
        context_window=window,
        effective_context=r.integer("effective_context", low=1) or window,
        tool_tier=r.choice("tool_tier", TOOL_TIERS),
        features=_read_features(r),
        plans_only=r.flag("plans_only", False),
        cost_in=r.number("cost_in", low=0),
        cost_out=r.number("cost_out", low=0),
        priority=r.integer("priority", 100) or 0,
        max_concurrency=r.integer("max_concurrency", low=1),
        data_zone=r.text("data_zone", longest=64, lines=False),
        adapters=r.listed("adapters", read_adapter),
        owner=r.text("owner", longest=256, lines=False),
        note=r.text("note"),
    )
    r.close()
    if kind is not None:
        _check_target(endpoint, r)
    return endpoint if named is not None else None


def _check_target(endpoint: Endpoint, r: Reader) -> None:
    if endpoint.kind != "mcp":
        if endpoint.transport != "http":
            r.wrong("transport", "is for kind mcp only", value=endpoint.transport)
        if r.raw("launch") is not None:
            r.wrong("launch", "is for kind mcp only")
    if r.raw("url") is not None and r.raw("launch") is not None:
        r.wrong("launch", "give url or launch, not both")
    if endpoint.kind == "declared":
        if endpoint.url is not None:
            r.wrong("url", "is not for kind declared, which is never contacted: choose another kind or leave it out")
    elif r.raw("url") is None and r.raw("launch") is None:
        r.wrong(
            "url",
            f"is required for kind {endpoint.kind}" + (" unless launch is given" if endpoint.kind == "mcp" else ""),
        )


def read_url(r: Reader, key: str = "url", default: str | None = None) -> str | None:
    value = r.raw(key)
    if value is None:
        return default
    if not isinstance(value, str):
        r.wrong(key, f"must be a URL, not {kind_of(value)}", value=value)
        return default
    secret = url_secret(value)
    if secret:
        r.wrong(
            key,
            f"holds a secret ({secret}): keep it apart and give a reference",
            allowed=f"credential: {REFERENCE_FORMS}",
            secret=True,
        )
    elif not _is_url(value):
        r.wrong(key, "must be an http or https URL with a host", value=value, allowed="http://… or https://…")
    else:
        return value
    return default


def _is_url(value: str) -> bool:
    if len(value) > 2048 or re.search(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]", value):
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def read_credential(r: Reader, key: str = "credential") -> str | None:
    """A reference to a secret. What is given instead is taken for the secret itself and never repeated."""
    value = r.raw(key)
    if value is None or (isinstance(value, str) and is_reference(value)):
        return value
    r.wrong(key, "must be a reference to a secret, never the secret itself", allowed=REFERENCE_FORMS, secret=True)
    return None


def _read_launch(r: Reader) -> str | None:
    value = r.raw("launch")
    if value is None or (isinstance(value, str) and _LAUNCH.fullmatch(value)):
        return value
    r.wrong("launch", "must name an entry of the host-side file, never a command", allowed="host:NAME", secret=True)
    return None


def _read_headers(r: Reader) -> dict[str, str]:
    headers: dict[str, str] = {}
    seen: set[str] = set()
    for header, value, path in r.pairs("headers"):
        if header.lower() in seen:
            r.problems.add(path, "is given twice: the names of headers do not differ by case")
        seen.add(header.lower())
        content = _read_header(header, value, path, r.problems)
        if content is not None:
            headers[header] = content
    return headers


def _read_header(header: str, value: object, path: str, problems: Problems) -> str | None:
    if not _HEADER_NAME.fullmatch(header):
        problems.add(path, "is no valid header name")
    elif not isinstance(value, str):
        problems.add(path, f"must be text, not {kind_of(value)}", allowed=_HEADER_RULE, secret=True)
    elif is_reference(value):
        return value
    elif names_a_secret(header) or looks_like_a_secret(value):
        problems.add(path, "looks like a secret: give a reference to it", allowed=REFERENCE_FORMS, secret=True)
    else:
        return text(value, path, problems, longest=4096, lines=False)
    return None


def _read_capability(value: object, path: str, problems: Problems) -> EndpointCapability | None:
    if isinstance(value, str):
        plain = name(value, path, problems)
        return None if plain is None else EndpointCapability(name=plain)
    r = Reader(value, path, problems)
    named = r.name("name", required=True)
    level = r.number("level", 1, low=0, high=1)
    provenance = r.choice("provenance", PROVENANCES, "declared")
    r.close()
    return (
        None
        if named is None
        else EndpointCapability(name=named, level=1 if level is None else level, provenance=provenance or "declared")
    )


def read_hint(value: object, path: str, problems: Problems) -> str | None:
    hint = text(value, path, problems)
    if hint is None:
        return None
    if is_blank(hint):
        problems.add(path, "must not be blank", allowed=f"1 to {MAX_HINT_BYTES} bytes")
    elif len(hint.encode()) > MAX_HINT_BYTES:
        problems.add(path, f"is {len(hint.encode())} bytes long", value=hint, allowed=f"1 to {MAX_HINT_BYTES} bytes")
    elif fault := fault_of_line(hint):
        problems.add(path, f"must not hold {fault}", value=hint)
    else:
        return hint
    return None


def _read_hints(value: object, path: str, problems: Problems) -> tuple[str, ...] | None:
    return items(value, path, problems, read_hint, most=MAX_HINTS)


def _read_features(r: Reader) -> dict[str, bool | None]:
    if not r.given("features"):
        return {}
    features = Reader(r.raw("features"), r.at("features"), r.problems)
    found: dict[str, bool | None] = {}
    for feature in FEATURES:
        value = features.raw(feature)
        if value is not None and not isinstance(value, bool):
            features.wrong(
                feature, f"must be true, false or null, not {kind_of(value)}", value=value, allowed=[True, False, None]
            )
        elif features.given(feature) and value is not None:  # null = unknown, as is an absent feature
            found[feature] = value
    features.close()
    return found


def _read_tools(r: Reader) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    seen: set[str] = set()
    for path, tool in r.listed("tools", _read_placed_tool):
        if tool.name in seen:
            r.problems.add(child(path, "name"), "another tool of this endpoint has this name", value=tool.name)
        seen.add(tool.name)
        tools.append(tool)
    return tuple(tools)


def _read_placed_tool(value: object, path: str, problems: Problems) -> tuple[str, Tool] | None:
    tool = read_tool(value, path, problems)
    return None if tool is None else (path, tool)


def read_tool(value: object, path: str, problems: Problems) -> Tool | None:
    r = Reader(value, path, problems)
    named = _read_tool_name(r)
    empty: JsonObject = {}
    tool = Tool(
        name=named or "",
        title=r.text("title"),
        description=r.words("description"),
        input_schema=r.json_object("input_schema", {}) or empty,
        output_schema=r.json_object("output_schema", None),
        annotations=r.json_object("annotations", {}) or empty,
        category=r.text("category", longest=64, lines=False),
        risk=r.choice("risk", RISKS),
        effect=read_effect(r),
        overridden=_read_overridden(r),
        enabled=r.flag("enabled", True),
    )
    r.close()
    return None if named is None else tool


def _read_overridden(r: Reader) -> tuple[str, ...]:
    """Traits that an operator set, in the order of TRAITS. A trait that is not given cannot be one of them."""
    if r.raw("overridden") is None:
        return ()
    named = r.listed("overridden", lambda value, path, problems: choice(value, TRAITS, path, problems))
    for trait in named:
        if r.raw(trait) is None:
            r.wrong("overridden", f"names {trait}, which this tool does not give", value=trait)
    return tuple(trait for trait in TRAITS if trait in named)


def _read_tool_name(r: Reader) -> str | None:
    wire = r.text("name", required=True, longest=256, lines=False)
    if wire is not None and not wire:
        r.wrong("name", "must not be empty", allowed="1 to 256 characters")
        return None
    if wire is not None and is_blank(wire):
        r.wrong("name", "must not be blank", value=wire)
        return None
    return wire
