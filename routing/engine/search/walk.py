"""Exact search of any environment: every path to the depth limit is walked."""

from __future__ import annotations

from collections import deque
from typing import Any

from routing.engine.search.exact import last_best
from routing.engine.search.graph import Options
from routing.engine.search.tree import AskStep, AskTools, Node, Search, TreeSearch
from routing.engine.search.values import MCTSConfig


class Walk(TreeSearch):
    """Nearer steps first. Of a walk that was stopped the layers that are whole count: its first steps are seen equally far."""

    def __init__(self, config: MCTSConfig) -> None:
        super().__init__(config, None, prior=False)
        self.whole = 0  # layers of which every step is known
        self._found: list[Node] = []

    def run(self, state: Any, options: Options) -> Search:
        self.root = yield from self.prepare(state, options, None, 0)
        self._found.append(self.root)
        waiting = deque(self._found)
        while waiting:
            node = waiting.popleft()
            self.whole = node.depth
            for place in range(len(node.tools)):
                yield None
                if self.nodes >= self.config.max_nodes:
                    self.stopped_by = "nodes"
                    return
                yield from self._step(node, place)
                below = node.children[place]
                if below is not None:
                    self._found.append(below)
                    waiting.append(below)
        self.whole = self.config.max_depth

    def _step(self, node: Node, place: int) -> Search:
        step = yield AskStep(node.state, node.tools[place])
        ends = node.ends[place] or step.terminal
        options = None if ends else (yield AskTools(step.target))
        node.targets[place], node.rewards[place] = step.target, step.reward
        node.values[place], node.terminals[place] = step.value, step.terminal
        if options is not None and options.tools:
            node.children[place] = Node(step.target, options, node, node.depth + 1, self.config.max_depth)
        node.counts[place] = 2.0
        self.nodes += 1

    def back_up(self) -> None:
        """The value of every step that was walked; where nothing is known of what follows, the state's own."""
        discount = self.config.discount
        for node in reversed(self._found):
            if node.depth >= max(self.whole, 1):
                node.counts = [1.0] * len(node.tools)
            for place in node.tried():
                below = node.children[place]
                known = [] if below is None else [below.scores[deeper] for deeper in below.tried()]
                node.scores[place] = node.rewards[place] + discount * (max(known) if known else node.values[place])

    def best(self, node: Node) -> int | None:
        tried = node.tried()
        return tried[last_best([node.scores[place] for place in tried])] if tried else None
