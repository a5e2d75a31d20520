"""What of a document leads nowhere: hints on no tool, capabilities that nobody has, scopes without tools, idle rules."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from routing.engine.doctor.findings import (
    CAPABILITY_UNUSED,
    HIGH,
    HINT_WITHOUT_TOOL,
    LOW,
    MEDIUM,
    NO_DESCRIPTION,
    RULE_IDLE,
    RULE_NEVER,
    SCOPE_EMPTY,
    Finding,
    Suggestion,
)
from routing.engine.doctor.sight import Sight
from routing.engine.execution_review import NEVER, review_rules
from routing.engine.naming import EndpointNames
from routing.engine.registry import Endpoint, Scope

NEARLY_SPELLED = 0.8  # how near a tool's name has to come to a key that meets none


def wiring(sight: Sight) -> Iterator[Finding]:
    for part in sight.index.parts:
        yield from _orphans(sight, part.endpoint, part.names)
        yield from _undescribed(sight, part.endpoint)
    yield from _capabilities(sight)
    yield from _scopes(sight)
    yield from _rules(sight)


# --- hints on no tool -------------------------------------------------------------------------------------------------
def _orphans(sight: Sight, endpoint: Endpoint, names: EndpointNames) -> Iterator[Finding]:
    if not endpoint.tools:  # they are not read yet
        return
    for key, hints in endpoint.tool_use_when.items():
        if names.wire_of_key(key) is not None:
            continue
        near = get_close_matches(key, sorted(names.fragments), 1, NEARLY_SPELLED)
        yield Finding(
            code=HINT_WITHOUT_TOOL,
            severity=HIGH,
            path=f"{sight.path(endpoint.name)}.tool_use_when.{key}",
            message=f"{len(hints)} {'hint is' if len(hints) == 1 else 'hints are'} kept under “{key}”, but {endpoint.name} "
            f"has no such tool, so nobody is helped by {'it' if len(hints) == 1 else 'them'}.",
            section="endpoints",
            name=endpoint.name,
            words=(key,),
            suggestion=_rekeyed(endpoint, key, near[0] if near else ""),
            about=(endpoint.name, key, *hints),
        )


def _rekeyed(endpoint: Endpoint, key: str, tool: str) -> Suggestion:
    """The hints moved to the tool of nearly that name, or taken away where there is none."""
    kept = {one: list(texts) for one, texts in endpoint.tool_use_when.items() if one != key}
    if tool:
        kept[tool] = list(dict.fromkeys([*kept.get(tool, ()), *endpoint.tool_use_when[key]]))
    return Suggestion(
        words=f"Move to {tool}." if tool else f"Take away what is kept under “{key}”.",
        section="endpoints",
        name=endpoint.name,
        part="tool_use_when",
        changes={"tool_use_when": kept or None},
    )


# --- nothing said -----------------------------------------------------------------------------------------------------
def _undescribed(sight: Sight, endpoint: Endpoint) -> Iterator[Finding]:
    if not endpoint.enabled or not endpoint.tools:
        return
    if not (endpoint.description.strip() or endpoint.use_when):
        yield Finding(
            code=NO_DESCRIPTION,
            severity=LOW,
            path=f"{sight.path(endpoint.name)}.description",
            message=f"{endpoint.name} has neither a description nor a hint.",
            section="endpoints",
            name=endpoint.name,
            suggestion=Suggestion(
                words="Describe it in a sentence.", section="endpoints", name=endpoint.name, part="description"
            ),
            about=(endpoint.name,),
        )
    part = sight.index.parts[sight.part_of[endpoint.name]]
    for doc in part.docs:
        if doc.tool.enabled and not doc.tool.description.strip():
            bare = not (doc.hints or doc.title.strip())
            yield Finding(
                code=NO_DESCRIPTION,
                severity=MEDIUM if bare else LOW,
                path=f"{sight.tool_path(doc)}.description",
                message=f"{doc.public} has no description{' and no hint: its name alone has to find it' if bare else ''}.",
                section="endpoints",
                name=endpoint.name,
                tool=doc.public,
                suggestion=Suggestion(
                    words="Write a hint: it counts more than a description would.",
                    section="endpoints",
                    name=endpoint.name,
                    part="tool_use_when",
                    tool=doc.public,
                ),
                about=(doc.public, bare),
            )


# --- nobody has it, nobody is reached ---------------------------------------------------------------------------------
def _capabilities(sight: Sight) -> Iterator[Finding]:
    registry = sight.catalog.registry
    if not registry.endpoints:  # nobody could have one
        return
    carried = {one.name: endpoint.enabled for endpoint in registry.endpoints for one in endpoint.capabilities}
    carried |= {one.name: True for endpoint in registry.endpoints if endpoint.enabled for one in endpoint.capabilities}
    for place, capability in enumerate(registry.capabilities):
        if carried.get(capability.name) or capability.deprecated:
            continue
        off = "only endpoints that are switched off have it" if capability.name in carried else "no endpoint has it"
        yield Finding(
            code=CAPABILITY_UNUSED,
            severity=LOW,
            path=f"capabilities[{place}]",
            message=f"The capability {capability.name} leads nowhere: {off}.",
            section="capabilities",
            name=capability.name,
            suggestion=Suggestion(
                words="Give it to an endpoint, or take it away.", section="capabilities", name=capability.name
            ),
            about=(capability.name, capability.name in carried),
        )


def _scopes(sight: Sight) -> Iterator[Finding]:
    for place, scope in enumerate(sight.catalog.registry.scopes):
        if sight.catalog.view(scope.name).size:
            continue
        whole = sight.catalog.whole_view(scope.name)
        off = whole is not None and whole.size > 0
        what = "all that it permits is switched off" if off else "it permits no tool that there is"
        yield Finding(
            code=SCOPE_EMPTY,
            severity=MEDIUM if off else HIGH,
            path=f"scopes[{place}]",
            message=f"The scope {scope.name} reaches nothing: {what}.",
            section="scopes",
            name=scope.name,
            suggestion=Suggestion(
                words="Choose what it reaches, or delete it.", section="scopes", name=scope.name, part="edit"
            ),
            about=(scope.name, off, *_permission(scope)),
        )


def _permission(scope: Scope) -> list[list[str] | None]:
    lists = (scope.endpoints, scope.tools, scope.deny)
    return [None if one is None else sorted(one) for one in lists]


# --- rules that decide nothing ----------------------------------------------------------------------------------------
def _rules(sight: Sight) -> Iterator[Finding]:
    policies = {one.name: (place, one) for place, one in enumerate(sight.catalog.registry.policies)}
    for note in review_rules(sight.catalog.registry):
        place, policy = policies[note.policy]
        rules = [dict(rule) for rule in policy.execution["rules"]]
        dead = note.code == NEVER
        others = [rule for at, rule in enumerate(rules) if at != note.place]
        yield Finding(
            code=RULE_NEVER if dead else RULE_IDLE,
            severity=MEDIUM if dead else LOW,
            path=f"policies[{place}].execution.{note.rule}",
            message=f"Execution rule {note.place + 1} of policy {note.policy} {note.message}.",
            section="policies",
            name=note.policy,
            words=tuple(f"{key} {value}" for key, value in rules[note.place].items()),
            suggestion=Suggestion(
                words="Take the rule away, or put it before those that are in its way."
                if dead
                else "Look whether it says what is meant.",
                section="policies",
                name=note.policy,
                part="rules",
                changes={"execution": {**policy.execution, "rules": others}} if dead else None,
            ),
            about=(note.policy, rules[note.place], note.message),
        )
