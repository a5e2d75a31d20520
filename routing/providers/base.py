"""What a decision provider is: given what is going on and a few tools, it prefers one label and says how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from routing.engine.router import ChoiceDecision, HarnessState, ToolDescriptor


class LocalChooser(Protocol):
    """A provider that answers in process, without a network."""

    def choose(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> ChoiceDecision: ...
