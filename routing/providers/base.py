"""What decides among tools: a provider of the outside (`DecisionProvider`), or a chooser that knows the tools themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from routing.engine.models import ChoiceDecision, DecisionProvider, HarnessState, ToolDescriptor


class ToolChooser(Protocol):
    """Picks one of the tools, or the label `__fallback__`, in process."""

    def choose(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> ChoiceDecision: ...


__all__ = ["ChoiceDecision", "DecisionProvider", "ToolChooser"]
