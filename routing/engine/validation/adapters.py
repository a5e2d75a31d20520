"""Reading an endpoint's adapters: small trained parts that a model endpoint offers for one capability."""

from __future__ import annotations

from typing import Any

from routing.engine.validation.problems import Problems
from routing.engine.validation.reader import Reader

TYPES = ("none", "lora", "alora")
DIRECTIONS = ("higher_is_pass", "higher_is_risk")


def read_adapter(value: object, path: str, problems: Problems) -> dict[str, Any] | None:
    """The adapter as a mapping of what was given, defaults left out."""
    r = Reader(value, path, problems)
    adapter: dict[str, Any] = {
        "capability": r.name("capability", required=True),
        "type": r.choice("type", TYPES, "none"),
        "activation": _read_activation(r),
        "inputs": list(r.texts("inputs")) or None,
        "output_schema": r.json_object("output_schema", None),
        "score": _read_score(r),
        "revision": r.text("revision", longest=256, lines=False),
        "max_output_tokens": r.integer("max_output_tokens", low=1),
    }
    r.close()
    if adapter["type"] == "none":
        adapter["type"] = None
    return {key: content for key, content in adapter.items() if content is not None}


def _read_activation(r: Reader) -> dict[str, Any] | None:
    if r.raw("activation") is None:
        return None
    a = Reader(r.raw("activation"), r.at("activation"), r.problems)
    found: dict[str, Any] = {key: a.text(key) for key in ("prompt", "model", "token")}
    given = a.raw("adapter_id")
    whole = isinstance(given, int) and not isinstance(given, bool)
    found["adapter_id"] = a.integer("adapter_id", low=0) if whole else a.text("adapter_id", longest=256)
    found["scale"] = a.number("scale")
    a.close()
    return {key: content for key, content in found.items() if content is not None} or None


def _read_score(r: Reader) -> dict[str, Any] | None:
    if r.raw("score") is None:
        return None
    s = Reader(r.raw("score"), r.at("score"), r.problems)
    low, high = s.number("min"), s.number("max")
    found: dict[str, Any] = {
        "min": low,
        "max": high,
        "direction": s.choice("direction", DIRECTIONS),
        "threshold": s.number("threshold"),
    }
    s.close()
    if low is not None and high is not None and low >= high:
        s.wrong("max", "must be greater than min", value=high)
    return {key: content for key, content in found.items() if content is not None}
