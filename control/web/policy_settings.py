"""What a policy comes to, setting by setting: the value, which layer gave it, and its bounds in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from control.web import merging
from control.web.forms.policies import INHERITED
from routing.engine.policies import BLOCKS, Setting, known_policies, lineage, merged
from routing.engine.registry import Policy

TITLES = {
    "router": ("Router", "when a tool is selected without the planner"),
    "resolver": ("Resolver", "ranking tools for what a harness is doing"),
    "execution": ("Execution", "whether advice may be run"),
    "mcts": ("Look-ahead search", "how far and how long a search looks"),
    "tool_calls": ("Tool calls", "what is done about calls that a model wrote"),
    "selection": ("Endpoint selection", "choosing a model endpoint"),
    "turns": ("Turns", "compacting a long conversation"),
    "lane": ("Lanes", "where each kind of question is computed"),
}
WIDE = ("names", "choices", "endpoints", "aliases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a setting stands: `router`, `risk_thresholds.read`."""

    block: str
    key: str
    setting: Setting

    @property
    def id(self) -> str:
        return f"{self.block}-{self.key.replace('.', '-')}"

    @property
    def label(self) -> str:
        return self.key.replace("_", " ").replace(".", ": ")


def places(block: str) -> Iterator[Place]:
    """Every setting of a block that is edited by itself; rules have their own form."""
    for setting in BLOCKS[block]:
        if setting.type == "by_effect":
            for effect in setting.choices:
                one = replace(setting, name=effect, type="number", default=None, optional=True, choices=())
                yield Place(block=block, key=f"{setting.name}.{effect}", setting=one)
        elif setting.type == "block":
            for inner in setting.settings:
                yield Place(block=block, key=f"{setting.name}.{inner.name}", setting=inner)
        elif setting.type != "rules":
            yield Place(block=block, key=setting.name, setting=setting)


def place(block: str, key: str) -> Place | None:
    return next((one for one in places(block) if one.key == key), None) if block in BLOCKS else None


def look(block: Mapping[str, Any], key: str, missing: Any = None) -> Any:
    """What a block has at a key that may lead one mapping deeper."""
    head, _, inner = key.partition(".")
    found = block.get(head, missing)
    return found if not inner else (found.get(inner, missing) if isinstance(found, Mapping) else missing)


def put(block: Mapping[str, Any], key: str, value: Any, missing: Any) -> dict[str, Any]:
    """The block with this value, or without one when it is `missing`; mappings that are left empty go too."""
    head, _, inner = key.partition(".")
    held = put(block.get(head) or {}, inner, value, missing) or missing if inner else value
    return {**{name: one for name, one in block.items() if name != head}, **({} if held is missing else {head: held})}


def held(body: Mapping[str, Any], block: str, key: str) -> Any:
    """What a policy itself says of one setting, or INHERITED."""
    return look(body.get(block) or {}, key, INHERITED)


def mark(body: Mapping[str, Any], part: str, key: str, value: Any) -> str:
    """A mark of one setting as somebody reads it: `value` is what the policy itself says."""
    return merging.mark("policies", body["name"], part, value, key)


def bounds(setting: Setting) -> str:
    """ "0 to 1", "1 or more", "above 0", "one of …" """
    if setting.type == "flag":
        return "on or off"
    if setting.choices:
        return ", ".join(setting.choices)
    if setting.above is not None:
        return f"above {setting.above:g}" + (f", at most {setting.high:,g}" if setting.high is not None else "")
    if setting.low is None:
        return ""
    return f"{setting.low:g} to {setting.high:,.0f}" if setting.high is not None else f"{setting.low:g} or more"


def told(value: Any) -> str:
    """A value in words."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {one}" for key, one in value.items()) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)


class Layers:
    """A policy with all that it extends."""

    def __init__(self, name: str, policies: Sequence[Policy]) -> None:
        self.name = name
        self.chain = lineage(name, known_policies(policies))
        self.effective = merged(self.chain)
        self._above = merged(self.chain[1:]) if len(self.chain) > 1 else merged([Policy(name="")])

    def value(self, at: Place) -> Any:
        return look(getattr(self.effective, at.block), at.key)

    def inherited(self, at: Place) -> Any:
        return look(getattr(self._above, at.block), at.key)

    def layer(self, at: Place) -> str:
        """Who set it: the name of a policy of the chain, or nothing for the default that ships."""
        missing = object()
        return next(
            (one.name for one in self.chain if look(getattr(one, at.block), at.key, missing) is not missing), ""
        )

    def layer_words(self, at: Place) -> str:
        name = self.layer(at)
        if not name:
            return "default"
        if name == self.name:
            return "this policy"
        return "workspace" if name == "default" else f"policy {name}"


def bars(layers: Layers) -> list[dict[str, Any]]:
    """For each effect: from which confidence on a recommendation is confident, and a tool selected without the planner."""
    router, resolver = layers.effective.router, layers.effective.resolver
    return [
        {
            "effect": effect,
            "direct": _bar(router["risk_thresholds"].get(effect, router["direct_execution_threshold"])),
            "own_direct": effect in router["risk_thresholds"],
            "confident": _bar(resolver["risk_at"].get(effect, resolver["confident_at"])),
            "own_confident": effect in resolver["risk_at"],
        }
        for effect in ("read", "write", "erase", "execute")
    ]


def _bar(value: float) -> dict[str, Any]:
    return {"value": value, "width": round(88 * value, 2)}


def risks(layers: Layers) -> list[tuple[str, str]]:
    """What happens to a tool of each risk where no rule fits."""
    least = layers.effective.execution["medium_min_confidence"]
    medium = "Denied" if least is None else f"Allowed from confidence {least} on, else denied"
    return [("low", "Allowed"), ("medium", medium), ("high", "Denied"), ("critical", "Denied")]


_VERDICTS = {"allow": "Allow", "ask": "Ask before running", "deny": "Deny"}


def rule_words(rule: Mapping[str, Any]) -> str:
    """ "Deny every tool whose effect is erase, of high risk, on the endpoint notes." """
    what = f"the tool {rule['tool']}" if rule.get("tool") else "every tool"
    parts = [
        f"whose effect is {rule['effect']}" if rule.get("effect") else "",
        f"of {rule['risk']} risk" if rule.get("risk") else "",
        f"in the category {rule['category']}" if rule.get("category") else "",
        f"on the endpoint {rule['endpoint']}" if rule.get("endpoint") else "",
        f"from confidence {rule['min_confidence']:g} on" if _is_number(rule.get("min_confidence")) else "",
    ]
    facts = ", ".join(filter(None, parts))
    return f"{_VERDICTS.get(rule.get('verdict', ''), 'Decide on')} {what}{facts and ' '}{facts}."


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
