"""What execution policies judge in a registry: its tools with what is known of them, who may reach them, and from which
confidence on one is selected. Read from the registry alone, without compiling it, so that a draft is quick to ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from routing.engine.config import RoutingConfig
from routing.engine.decision_table import direct_threshold
from routing.engine.execution import Proposal, RuleExecutionPolicy
from routing.engine.inference import CATEGORIES, Traits, describe_traits
from routing.engine.models import RiskLevel, RoutingMode, ToolDescriptor
from routing.engine.naming import EndpointNames, ToolNames
from routing.engine.permission import Pair, Rules, rules
from routing.engine.policies import EffectivePolicy, effective, known_policies, lineage
from routing.engine.registry import Endpoint, Policy, Registry, Scope, Tool


class Ground:
    """A registry as execution policies see it. `traits` tells what a tool is; a caller who knows already may say so."""

    def __init__(
        self, registry: Registry, traits: Callable[[Endpoint, Tool], Traits] = lambda _, tool: describe_traits(tool)
    ) -> None:
        self.registry = registry
        self.policies = known_policies(registry.policies)
        self.endpoints = {endpoint.name: endpoint for endpoint in registry.endpoints}
        self.scopes = {"default": Scope(name="default"), **{scope.name: scope for scope in registry.scopes}}
        self.names = ToolNames(self._spellings)
        self._traits = traits
        self._known: dict[str, EndpointNames] = {}
        self._reach: dict[str, Rules] = {}

    def _spellings(self, endpoint: str) -> EndpointNames | None:
        if endpoint not in self._known:
            if endpoint not in self.endpoints:
                return None
            wires = (tool.name for tool in self.endpoints[endpoint].tools)
            self._known[endpoint] = EndpointNames(endpoint, wires)
        return self._known[endpoint]

    def reach(self, scope: str) -> Rules:
        if scope not in self._reach:
            self._reach[scope] = rules(self.scopes[scope], self.registry.groups, self.names)
        return self._reach[scope]

    def is_unread(self, endpoint: str) -> bool:
        """Whether the tools of an endpoint are not known yet."""
        found = self.endpoints.get(endpoint)
        return found is not None and found.kind == "mcp" and not found.tools

    def tool(self, pair: Pair) -> Tool:
        return next(tool for tool in self.endpoints[pair[0]].tools if tool.name == pair[1])

    def proposal(self, endpoint: Endpoint, tool: Tool, confidence: float = 1.0) -> Proposal:
        """That this tool of the registry is to run."""
        traits, names = self._traits(endpoint, tool), self._spellings(endpoint.name)
        assert names is not None  # the endpoint is one of the registry's
        return Proposal(
            tool=names.public(tool.name),
            endpoint=endpoint.name,
            category=traits.category,
            risk=traits.risk,
            effect=traits.effect,
            confidence=confidence,
        )

    def proposals(self, scope: str, confidence: float = 1.0) -> Iterator[Proposal]:
        """One for each tool that a scope reaches and that is not switched off."""
        permit = self.reach(scope).permit
        for endpoint in self.registry.endpoints:
            for tool in endpoint.tools if endpoint.enabled else ():
                if tool.enabled and permit(endpoint.name, tool.name):
                    yield self.proposal(endpoint, tool, confidence)

    def execution(self, policy: str) -> RuleExecutionPolicy:
        """The execution rules that a policy comes to, which know this registry's tools in every spelling."""
        return RuleExecutionPolicy.of(effective(policy, self.registry.policies).execution, names=self.names)

    @cached_property
    def categories(self) -> set[str]:
        """Every category that is inferred, and every one that some tool declares."""
        declared = {tool.category for endpoint in self.registry.endpoints for tool in endpoint.tools if tool.category}
        return {name.strip().casefold() for name in (*CATEGORIES, *declared)}


class Floor:
    """Below which confidence a policy selects no tool, and so asks for no verdict."""

    def __init__(self, policy: EffectivePolicy) -> None:
        self._config = RoutingConfig.from_policy(policy.router)
        self.planner_only = self._config.mode is RoutingMode.PLANNER_ONLY

    def __call__(self, proposal: Proposal) -> float:
        if self.planner_only:
            return math.inf
        if self._config.mode is RoutingMode.JEV_ONLY:
            return self._config.fallback_threshold
        known = ToolDescriptor(proposal.tool, "", proposal.category, RiskLevel(proposal.risk), effect=proposal.effect)
        return max(self._config.fallback_threshold, direct_threshold(self._config, known)[0])


def rules_owner(name: str, policies: Mapping[str, Policy]) -> str | None:
    """The policy whose execution rules a policy comes to: itself or one that it extends; None where nobody has any."""
    return next((one.name for one in lineage(name, policies) if "rules" in one.execution), None)
