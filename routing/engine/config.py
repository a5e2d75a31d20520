"""The settings of the decision router, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from routing.engine.errors import RouterConfigurationError
from routing.engine.models import RoutingMode
from routing.engine.policies import ROUTER, Setting


@dataclass(frozen=True, slots=True)
class RoutingConfig:
    """Raises RouterConfigurationError for a value out of its bounds. The bounds are those of a policy's `router` block."""

    mode: RoutingMode = RoutingMode.HYBRID
    direct_execution_threshold: float = 0.85
    fallback_threshold: float = 0.60
    hierarchical_threshold: int = 24
    adaptive_hierarchy: bool = True
    hierarchical_min_savings_ratio: float = 0.15
    route_cache_size: int = 128
    fallback_cache_ttl_seconds: float = 5
    goal_cache_size: int = 0
    goal_cache_ttl_seconds: float = 300
    max_same_action_repeats: int = 2
    max_route_steps: int = 50
    max_consecutive_fallbacks: int = 2
    description_limit: int = 160
    history_limit: int = 3
    state_field_limit: int = 800
    constraint_limit: int = 4
    risk_thresholds: Mapping[str, float] = field(default_factory=dict)  # effect -> direct threshold
    finish_threshold: float | None = None
    circuit_half_open_seconds: float = 0
    hierarchical_characters_per_second: float = (
        0  # of request that a second of waiting is worth; 0: time is not weighed
    )

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "mode", RoutingMode(self.mode))
        except ValueError:
            raise RouterConfigurationError(f"mode must be one of {', '.join(RoutingMode)}") from None
        for setting in ROUTER:
            if hasattr(self, setting.name) and setting.name != "mode":
                _check(setting, getattr(self, setting.name))
        waiting = self.hierarchical_characters_per_second
        if isinstance(waiting, bool) or not isinstance(waiting, (int, float)) or not 0 <= waiting < math.inf:
            raise RouterConfigurationError("hierarchical_characters_per_second must be a finite number, 0 or more")
        if self.fallback_threshold > self.direct_execution_threshold:
            raise RouterConfigurationError("fallback_threshold must not be above direct_execution_threshold")

    @classmethod
    def from_policy(cls, router: Mapping[str, Any]) -> RoutingConfig:
        """The configuration that a policy's (effective) `router` block means; what concerns others in it is left aside."""
        own = {spec.name for spec in fields(cls)}
        return cls(**{name: value for name, value in router.items() if name in own})


def _check(setting: Setting, value: object) -> None:
    match setting.type:
        case "flag":
            if not isinstance(value, bool):
                raise RouterConfigurationError(f"{setting.name} must be true or false")
        case "by_effect":
            if not isinstance(value, Mapping) or not set(value) <= set(setting.choices):
                raise RouterConfigurationError(
                    f"{setting.name} must map some of {', '.join(setting.choices)} to numbers"
                )
            for effect, threshold in value.items():
                _check_number(setting, f"{setting.name}.{effect}", threshold)
        case _:
            if value is not None or not setting.optional:
                _check_number(setting, setting.name, value)


def _check_number(setting: Setting, name: str, value: object) -> None:
    whole = setting.type == "integer"
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
        raise RouterConfigurationError(f"{name} must be a {'whole' if whole else 'finite'} number")
    if (setting.low is not None and value < setting.low) or (setting.high is not None and value > setting.high):
        bounds = f"{setting.low} to {setting.high}" if setting.high is not None else f"{setting.low} or more"
        raise RouterConfigurationError(f"{name} must be {bounds}")
