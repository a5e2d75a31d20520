"""A compiled registry: what exists, who may see it, and the one index from which every scope is a view.

A catalog never changes. `replace` and `load_registry(…, previous=…)` make another one that shares the compiled parts of
every endpoint that stayed the same. Views and revisions are made when first asked for and kept; making one twice at the
same time does no harm, since both are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from routing.engine.calibration import SHIPPED, Calibration
from routing.engine.errors import RegistryError
from routing.engine.execution import RuleExecutionPolicy
from routing.engine.index import Index
from routing.engine.lexicon import Lexicon
from routing.engine.naming import ToolNames
from routing.engine.parts import Part, ToolDoc, compile_endpoint
from routing.engine.permission import Rules, rules
from routing.engine.policies import EffectivePolicy, effective
from routing.engine.registry import Registry, Scope
from routing.engine.sayings import sayings
from routing.engine.scope import View

DEFAULT = "default"


class Catalog:
    """Immutable, and safe to share between threads."""

    __slots__ = (
        "_executions",
        "_is_available",
        "_offline",
        "_policies",
        "_revisions",
        "_rules",
        "_views",
        "calibration",
        "index",
        "names",
        "registry",
        "scopes",
    )

    def __init__(self, registry: Registry, *, offline: Iterable[str] = (), previous: Catalog | None = None) -> None:
        self.registry = registry
        self.calibration: Calibration = previous.calibration if previous else SHIPPED
        self.scopes: Mapping[str, Scope] = MappingProxyType(
            {DEFAULT: Scope(name=DEFAULT), **{scope.name: scope for scope in registry.scopes}}
        )
        self.index = Index(_parts(registry, previous))
        self._offline = frozenset(offline)
        self.names = ToolNames({part.endpoint.name: part.names for part in self.index.parts}.get)
        self._rules = {name: rules(scope, registry.groups, self.names) for name, scope in self.scopes.items()}
        self._views: dict[tuple[str, bool], View] = {}
        self._is_available: npt.NDArray[np.bool_] | None = None
        self._policies: dict[str, EffectivePolicy] = {}
        self._executions: dict[str, RuleExecutionPolicy] = {}
        self._revisions: dict[str, str] = {}

    @property
    def offline(self) -> frozenset[str]:
        return self._offline

    def replace(self, endpoint_document: Mapping[str, Any]) -> Catalog:
        """Another catalog with this endpoint changed or added. Raises RegistryError when the whole would break a rule."""
        from routing.engine.validation import with_endpoint

        registry = with_endpoint(self.registry, endpoint_document)
        return Catalog(registry, offline=_known_offline(registry, self._offline), previous=self)

    def with_offline(self, offline: Iterable[str]) -> Catalog:
        """The same registry while other endpoints are away."""
        return Catalog(self.registry, offline=_known_offline(self.registry, offline), previous=self)

    def calibrated(self, calibration: Calibration) -> Catalog:
        """The same catalog, of which the judge's probabilities are corrected so."""
        made = copy(self)
        made.calibration = calibration
        return made

    def scope(self, name: str) -> Scope:
        return self.scopes[name]

    def rules(self, scope: str) -> Rules:
        return self._rules[scope]

    def permits(self, scope: str, endpoint: str, wire: str) -> bool:
        """Whether a scope reaches this exact pair; whether it is switched on is another question."""
        return self._rules[scope].permit(endpoint, wire)

    def pair(self, name: str) -> tuple[str, str] | None:
        """Either spelling of a tool's name -> (endpoint, wire name)."""
        return self.names.pair(name)

    def policy(self, name: str) -> EffectivePolicy:
        """A policy with what it extends and every default filled in."""
        if name not in self._policies:
            self._policies[name] = effective(name, self.registry.policies)
        return self._policies[name]

    def execution(self, name: str) -> RuleExecutionPolicy:
        """The execution rules of a policy, which know a tool of this catalog in either spelling."""
        if name not in self._executions:
            self._executions[name] = RuleExecutionPolicy.of(self.policy(name).execution, names=self.names)
        return self._executions[name]

    def is_available(self, doc: ToolDoc) -> bool:
        """Neither switched off nor known to be away. Unknown is not away."""
        return doc.endpoint.enabled and doc.tool.enabled and doc.endpoint.name not in self._offline

    def view(self, scope: str) -> View:
        """What a scope permits and what is available."""
        return self._view(scope, whole=False)

    def whole_view(self, scope: str) -> View | None:
        """What a scope permits, off and away included; None when nothing of it is off or away."""
        whole = self._view(scope, whole=True)
        return whole if whole.size > self.view(scope).size else None

    def _view(self, scope: str, *, whole: bool) -> View:
        if (scope, whole) not in self._views:
            permitted = self._permitted(self._rules[scope])
            self._views[scope, whole] = View(self.index, permitted if whole else permitted & self._available())
        return self._views[scope, whole]

    def _permitted(self, rule: Rules) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(self.index.docs), np.bool_)
        for part in self.index.parts:
            name, first = part.endpoint.name, self.index.first_doc[part.endpoint.name]
            if rule.tools is not None or rule.permit_some(name):
                found[first : first + len(part.docs)] = [rule.permit(name, doc.wire) for doc in part.docs]
        return found

    def _available(self) -> npt.NDArray[np.bool_]:
        if self._is_available is None:
            self._is_available = np.fromiter(map(self.is_available, self.index.docs), np.bool_, len(self.index.docs))
        return self._is_available

    def tool(self, endpoint: str, wire: str) -> ToolDoc | None:
        return self.index.tool(endpoint, wire)

    def is_pinned(self, scope: str, doc: ToolDoc) -> bool:
        """Whether a pin of the scope, or else of the gateway, names this tool or its endpoint."""
        pins = self.scopes[scope].pins
        return any(
            pin in (doc.endpoint.name, f"{doc.endpoint.name}__*") or self.pair(pin) == (doc.endpoint.name, doc.wire)
            for pin in (self.registry.gateway.pins if pins is None else pins)
        )

    def tools(self, scope: str) -> tuple[ToolDoc, ...]:
        """The tools that a scope permits and that are available, by public name."""
        found = np.flatnonzero(self.view(scope).sees)
        return tuple(sorted((self.index.docs[place] for place in found), key=lambda doc: doc.public))

    def revision(self, scope: str) -> str:
        """`catalog-v1-` and 24 hex digits: equal exactly when the available tools in scope say the same."""
        if scope not in self._revisions:
            whole = hashlib.sha256()
            for doc in self.tools(scope):
                whole.update(hashlib.sha256(doc.public.encode()).digest() + doc.digest)
            self._revisions[scope] = f"catalog-v1-{whole.hexdigest()[:24]}"
        return self._revisions[scope]


def load_registry(
    document: Mapping[str, Any] | Registry, *, offline: Iterable[str] = (), previous: Catalog | None = None
) -> Catalog:
    """Compile a registry document. Raises RegistryError with every problem; reuses what `previous` compiled already."""
    # Imported here: reading documents is much code, and whoever has a Registry already does without.
    from routing.engine.validation import parse_document

    registry = document if isinstance(document, Registry) else parse_document(document).registry
    return Catalog(registry, offline=_known_offline(registry, offline), previous=previous)


def _known_offline(registry: Registry, offline: Iterable[str]) -> frozenset[str]:
    known = {endpoint.name for endpoint in registry.endpoints}
    names = list(offline)
    problems = [
        {"path": f"offline[{place}]", "message": "names no endpoint of the registry", "value": str(name)[:200]}
        for place, name in enumerate(names)
        if name not in known
    ]
    if problems:
        raise RegistryError(problems)
    return frozenset(names)


def _parts(registry: Registry, previous: Catalog | None) -> list[Part]:
    kept = {part.endpoint.name: part for part in previous.index.parts} if previous else {}
    capabilities = {capability.name: capability for capability in registry.capabilities}
    parts, lexicon = [], Lexicon()
    for endpoint in sorted(registry.endpoints, key=lambda one: one.name):  # the document's order says nothing
        part = kept.get(endpoint.name)
        fresh = part is not None and part.endpoint == endpoint and part.sayings == sayings(endpoint, capabilities)
        parts.append(part if part is not None and fresh else compile_endpoint(endpoint, capabilities, lexicon))
    return parts
