"""What decides among tools. The names below are loaded when they are asked for: the local provider needs no HTTP client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from routing.providers.openrouter import OpenRouterConfig, OpenRouterJevProvider

__all__ = ["OpenRouterConfig", "OpenRouterJevProvider"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from routing.providers import openrouter

    return getattr(openrouter, name)
