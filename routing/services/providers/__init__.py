"""Decision providers as a service: accounts of the registry, shared breakers, budgets, figures, and who is asked in which order."""

from routing.services.providers.asking import Routed, RouteFailed, decide, longest_s

__all__ = ["RouteFailed", "Routed", "decide", "longest_s"]
