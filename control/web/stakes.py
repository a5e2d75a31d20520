"""What stops working without some endpoints or tools, each in a sentence: asked before they are switched off or removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from control.web.confirming import MOST, named
from routing import inventory, mentions, snapshot, working
from routing.engine.catalog import Catalog
from routing.engine.naming import EndpointNames, ToolNames
from routing.engine.parts import ToolDoc
from routing.engine.registry import Registry
from routing.mentions import Mention
from routing.models import Decision, Workspace

SPAN = timedelta(days=30)
Pair = tuple[str, str]  # endpoint, wire name


def of_endpoints(workspace: Workspace, names: Collection[str]) -> list[str]:
    """Scopes that lose tools, capabilities that nobody carries any more, what else names them, recent decisions."""
    catalog, registry = snapshot.live(workspace.pk).catalog, working.copy_of(workspace).registry
    docs = [doc for doc in catalog.index.docs if doc.endpoint.name in names]
    told = mentions.of_endpoints(registry, names)
    starts = [f"{name}__" for name in names]
    return [
        *_scopes(catalog, docs),
        *_capabilities(registry, names),
        *_named(told),
        *_decided(workspace, starts, []),
    ]


def of_tools(workspace: Workspace, pairs: Collection[Pair]) -> list[str]:
    """Scopes that lose tools, what else names them, recent decisions."""
    catalog, registry = snapshot.live(workspace.pk).catalog, working.copy_of(workspace).registry
    docs = [doc for pair in pairs if (doc := catalog.tool(*pair)) is not None]
    publics = [doc.public for doc in docs]
    return [*_scopes(catalog, docs), *_named(_of_tools(registry, pairs)), *_decided(workspace, [], publics)]


def recent(workspace: Workspace) -> Any:
    return Decision.objects.filter(workspace=workspace, created_at__gte=timezone.now() - SPAN)


def _scopes(catalog: Catalog, docs: Iterable[ToolDoc]) -> list[str]:
    """By what live scopes reach now; those that lose everything first."""
    on = [doc for doc in docs if catalog.is_available(doc)]
    lost = {
        scope: number
        for scope in catalog.scopes
        if (number := sum(catalog.permits(scope, doc.endpoint.name, doc.wire) for doc in on))
    }
    sizes = {scope: inventory.sizes(catalog, scope)[1] for scope in lost}
    worst = sorted(lost, key=lambda scope: (lost[scope] < sizes[scope], scope))
    sentences = [_loss(scope, lost[scope], sizes[scope]) for scope in worst[:MOST]]
    more = len(worst) - MOST
    if more > 0:
        sentences.append(f"{more:,} more {'scope loses' if more == 1 else 'scopes lose'} tools too.")
    return sentences


def _loss(scope: str, lost: int, size: int) -> str:
    if lost < size:
        return f"Scope {scope} loses {lost:,} of the {size:,} tools that it reaches."
    many = "the only tool" if size == 1 else f"all {size:,} tools"
    return f"Scope {scope} loses {many} that it reaches."


def _capabilities(registry: Registry, names: Collection[str]) -> list[str]:
    carriers: dict[str, set[str]] = {}
    for endpoint in registry.endpoints:
        for capability in endpoint.capabilities if endpoint.enabled else ():
            carriers.setdefault(capability.name, set()).add(endpoint.name)
    gone = [capability for capability, endpoints in carriers.items() if endpoints <= set(names)]
    if not gone:
        return []
    noun, them = ("Capability", "it") if len(gone) == 1 else ("Capabilities", "them")
    return [f"{noun} {named(gone)}: no other endpoint that is switched on carries {them}."]


# That a scope may reach something is told by what it loses.
_TOLD = ("in its list", "through its group", "among what it denies", "as a member")


def _named(told: Sequence[Mention]) -> list[str]:
    sentences = list(
        dict.fromkeys(
            f"{one.who[0].upper()}{one.who[1:]} names {one.target} {one.place}."
            for one in told
            if not one.place.startswith(_TOLD)
        )
    )
    more = len(sentences) - MOST
    return sentences if more <= 0 else [*sentences[:MOST], f"They are named in {more:,} more places."]


def _of_tools(registry: Registry, pairs: Collection[Pair]) -> list[Mention]:
    wanted = {endpoint for endpoint, _ in pairs}
    found = [one for one in registry.endpoints if one.name in wanted]
    names = ToolNames({one.name: EndpointNames(one.name, [tool.name for tool in one.tools]) for one in found}.get)
    return [one for one in mentions.of_endpoints(registry, wanted) if names.pair(one.target) in set(pairs)]


def _decided(workspace: Workspace, starts: Iterable[str], publics: Sequence[str]) -> list[str]:
    wanted = Q(target__in=publics)
    for start in starts:
        wanted |= Q(target__begins=start)
    number = recent(workspace).filter(wanted).count()
    many = "decision" if number == 1 else "decisions"
    return [f"{number:,} {many} of the last 30 days recommended what this takes away."] if number else []
