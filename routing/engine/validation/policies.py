"""Reading policies by the table of their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from routing.engine.policies import (
    BLOCKS,
    EFFECTS,
    MAX_LINEAGE,
    RISKS,
    ROUTINGS,
    VERDICTS,
    Setting,
    known_policies,
    merged,
)
from routing.engine.registry import Policy
from routing.engine.validation.problems import Problems, child, item
from routing.engine.validation.reader import Reader, choice, integer, items, kind_of, name, number, pairs, short_text


def read_policy(value: object, path: str, problems: Problems) -> Policy | None:
    reader = Reader(value, path, problems)
    named = reader.name("name", required=True)
    extends = reader.name("extends")
    # Without a parent an absent routing is the default; with one it is the parent's.
    routing = reader.choice("routing", ROUTINGS, None if extends else "explicit")
    blocks = {block: _read_block(reader, block, settings) for block, settings in BLOCKS.items()}
    reader.close()
    if named is None:
        return None
    return Policy(name=named, extends=extends, routing=routing, **blocks)


def _read_block(reader: Reader, block: str, settings: tuple[Setting, ...]) -> dict[str, Any]:
    if not reader.given(block):
        return {}
    return _read_settings(reader.raw(block), reader.at(block), reader.problems, settings)


def _read_settings(value: object, path: str, problems: Problems, settings: tuple[Setting, ...]) -> dict[str, Any]:
    reader = Reader(value, path, problems)
    found: dict[str, Any] = {}
    for setting in settings:
        if not reader.given(setting.name):
            continue
        content = reader.raw(setting.name)
        if content is None and setting.optional:
            found[setting.name] = None
            continue
        answer = _read_setting(content, reader.at(setting.name), problems, setting)
        if answer is not None:
            found[setting.name] = answer
    reader.close()
    return found


def _read_setting(value: object, path: str, problems: Problems, setting: Setting) -> Any:
    match setting.type:
        case "flag":
            if isinstance(value, bool):
                return value
            problems.add(path, f"must be true or false, not {kind_of(value)}", value=value, allowed=[True, False])
            return None
        case "integer":
            return integer(value, path, problems, low=_whole(setting.low), high=_whole(setting.high))
        case "number":
            return number(value, path, problems, low=setting.low, high=setting.high, above=setting.above)
        case "choice" | "fixed":
            return choice(value, setting.choices, path, problems)
        case "choices":
            return items(value, path, problems, lambda v, p, ps: choice(v, setting.choices, p, ps))
        case "names" | "endpoints":
            return items(value, path, problems, name)
        case "endpoint":
            return name(value, path, problems)
        case "by_effect":
            return _by_effect(value, path, problems, setting)
        case "aliases":
            return _aliases(value, path, problems)
        case "rules":
            return items(value, path, problems, _read_rule)
        case _:
            return _read_settings(value, path, problems, setting.settings)


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _by_effect(value: object, path: str, problems: Problems, setting: Setting) -> dict[str, Any]:
    reader = Reader(value, path, problems)
    found = {effect: reader.number(effect, low=setting.low, high=setting.high) for effect in EFFECTS}
    if reader.given("exec"):
        found["execute"] = reader.number("exec", low=setting.low, high=setting.high)
    reader.close()
    return {effect: limit for effect, limit in found.items() if limit is not None}


def _aliases(value: object, path: str, problems: Problems) -> dict[str, str]:
    read = {alias: short_text(meant, place, problems) for alias, meant, place in pairs(value, path, problems)}
    return {alias: meant for alias, meant in read.items() if meant is not None}


def read_effect(reader: Reader, key: str = "effect") -> str | None:
    if reader.raw(key) == "exec":
        return "execute"
    return reader.choice(key, EFFECTS)


def _read_rule(value: object, path: str, problems: Problems) -> dict[str, Any]:
    reader = Reader(value, path, problems)
    rule: dict[str, Any] = {
        "effect": read_effect(reader),
        "risk": reader.choice("risk", RISKS),
        "category": reader.text("category", longest=64, lines=False),
        "tool": reader.text("tool", longest=400, lines=False),
        "endpoint": reader.name("endpoint"),
        "min_confidence": reader.number("min_confidence", low=0, high=1),
        "verdict": reader.choice("verdict", VERDICTS, required=True),
    }
    reader.close()
    return {key: content for key, content in rule.items() if content is not None}


def check_policies(placed: Sequence[tuple[str, Policy]], providers: Iterable[str], problems: Problems) -> None:
    """What policies must be together: known parents without circles, known providers, thresholds in order."""
    known = known_policies(policy for _, policy in placed)
    accounts = {*providers, "local"}
    for path, policy in placed:
        if policy.extends is not None and policy.extends not in known:
            problems.add(child(path, "extends"), "names no policy", value=policy.extends, allowed=sorted(known))
        else:
            _check_lineage(policy, path, known, problems)
        for index, provider in enumerate(policy.router.get("providers", ())):
            if provider not in accounts:
                place = item(child(child(path, "router"), "providers"), index)
                problems.add(place, "names no provider", value=provider, allowed=sorted(accounts))


def _check_lineage(policy: Policy, path: str, known: Mapping[str, Policy], problems: Problems) -> None:
    chain: list[Policy] = []
    following: str | None = policy.name
    while following is not None and following in known:
        if any(link.name == following for link in chain):
            if following == policy.name:
                problems.add(child(path, "extends"), "policies extend each other in a circle", value=policy.extends)
            return
        if len(chain) == MAX_LINEAGE:
            problems.add(
                child(path, "extends"), f"more than {MAX_LINEAGE} policies extend one another", value=policy.extends
            )
            return
        chain.append(known[following])
        following = chain[-1].extends
    if following is None:
        _check_thresholds(merged(chain).router, policy, child(path, "router"), problems)


def _check_thresholds(router: Mapping[str, Any], policy: Policy, path: str, problems: Problems) -> None:
    fallback, direct = router["fallback_threshold"], router["direct_execution_threshold"]
    if fallback > direct:
        given = "fallback_threshold" if "fallback_threshold" in policy.router else "direct_execution_threshold"
        message = f"fallback_threshold ({fallback}) must not be above direct_execution_threshold ({direct})"
        problems.add(
            child(path, given), message, value=router[given], allowed="fallback_threshold <= direct_execution_threshold"
        )
