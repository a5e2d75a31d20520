"""PUCT: each simulation adds a step to the tree, where its prior and what came back so far promise most.

Nothing is random: the same graph gives the same tree. The value of a step is the mean of what came back through it.

There are two ways to the same tree. `Puct` asks for every step, and serves any environment. `GraphPuct` is several times
faster where the graph is in memory: since nothing is random, what a node answers to its k-th visit depends on nothing
outside it, so each node is a generator of its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from math import inf, sqrt

from routing.engine.search.graph import Options, SuppliedGraph
from routing.engine.search.tree import PAUSE_EVERY, AskStep, AskTools, Node, Search, TreeSearch
from routing.engine.search.values import MCTSConfig


class Puct(TreeSearch):
    def run(self, state: object, options: Options) -> Search:
        """Grow the tree by as many simulations as the configuration says; see `tree` for what is yielded."""
        self.root = root = yield from self.prepare(state, options, None, 0)
        graph, max_nodes = self.graph, self.config.max_nodes
        discount, constant = self.config.discount, self.config.exploration_constant
        may_ask = self.may_ask
        number = 0
        while number < self.config.simulations:
            if not number % PAUSE_EVERY or graph is None:
                self.simulations = number
                yield None
            number += 1
            node = root
            while True:
                if node.left:
                    if self.nodes < max_nodes:
                        place = len(node.tools) - node.left
                        if node.order is not None:
                            place = node.order[place]
                        if graph is None:
                            step = yield AskStep(node.state, node.tools[place])
                            node.targets[place] = step.target
                            node.rewards[place] = step.reward
                            node.values[place] = step.value
                            node.terminals[place] = step.terminal
                            node.ends[place] = node.ends[place] or step.terminal
                        self.nodes += 1
                        node.left -= 1
                        node.place = place
                        break
                    node.forget_untried()
                # The choice among steps: this loop is where a search spends its time.
                root_of_visits = sqrt(node.visits)
                counts = node.counts
                best = float("-inf")
                place = index = 0
                if node.priors is None:
                    weight = node.urge * root_of_visits
                    for score in node.scores:
                        score += weight / counts[index]
                        if score >= best:
                            best = score
                            place = index
                        index += 1
                else:
                    priors = node.priors
                    for score in node.scores:
                        score += constant * priors[index] * root_of_visits / counts[index]
                        if score >= best:
                            best = score
                            place = index
                        index += 1
                node.place = place
                below = node.children[place]
                if below is None:
                    if node.ends[place]:
                        break
                    target = node.targets[place]
                    if self.nodes >= max_nodes:
                        below_options = None
                    elif graph is None:
                        below_options = yield AskTools(target)
                    else:
                        below_options = graph.options[target]
                    if below_options is None or not below_options.tools:
                        node.ends = [*node.ends]
                        node.ends[place] = True
                        break
                    if may_ask and self.policy_evaluations < may_ask:
                        below = yield from self.prepare(target, below_options, node, node.depth + 1)
                    else:
                        below = Node(target, below_options, node, node.depth + 1, self.config.max_depth)
                        below.urge = constant * (1.0 / len(below.tools))
                    node.children[place] = below
                node = below
            value = node.values[node.place]
            above: Node | None = node
            while above is not None:
                place = above.place
                count = above.counts[place]
                above.sums[place] = total = above.sums[place] + value
                reward = above.rewards[place]
                above.scores[place] = reward + discount * (total / count)
                above.counts[place] = count + 1.0
                above.visits += 1.0
                value = reward + discount * value
                above = above.parent
        self.simulations = number

    def best(self, node: Node) -> int | None:
        """Most visits, then value, then prior, then the later name: as steps stand, the last of equal ones."""
        tried = node.tried()
        if not tried:
            return None
        return max(tried, key=lambda place: (node.counts[place], node.scores[place], place))


# Of the greatest score there can be: more than double precision can be off by in millions of additions.
ROUNDING = 1e-9
MAX_NESTED = 200  # generators within generators; a deeper search takes the other way


class GraphPuct(Puct):
    """Priors are asked for at the root alone; `Puct` does what this cannot (see `puct_over`)."""

    _margin = 0.0

    def run(self, state: object, options: Options) -> Search:
        self.root = root = yield from self.prepare(state, options, None, 0)
        assert self.graph is not None
        self._margin = ROUNDING * self._greatest_score(self.graph)
        visit = self._visits(root, self.graph, 0.0).__next__
        while self.simulations < self.config.simulations:
            yield None
            batch = min(PAUSE_EVERY, self.config.simulations - self.simulations)
            for _ in repeat(None, batch):
                visit()
            self.simulations += batch

    def _visits(self, node: Node, graph: SuppliedGraph, own_value: float) -> Iterator[float]:
        """What comes back of each further visit to a node, one after the other."""
        discount, constant = self.config.discount, self.config.exploration_constant
        rewards, values, counts, sums, scores = node.rewards, node.values, node.counts, node.sums, node.scores
        visits = node.visits
        for place in node.order or range(len(values)):
            if self.nodes >= self.config.max_nodes:
                node.forget_untried()
                break
            self.nodes += 1
            sums[place] = value = values[place]
            counts[place] = 2.0
            scores[place] = value = rewards[place] + discount * value
            visits += 1.0
            yield value
        if not node.tools:
            yield from repeat(own_value)
        rewards, values, counts, sums, scores = node.rewards, node.values, node.counts, node.sums, node.scores
        margin, lowest, urge, priors = self._margin, -inf, node.urge, node.priors
        below: list[Callable[[], float] | None] = [None] * len(counts)
        while True:
            root_of_visits = sqrt(visits)
            best = second = lowest
            place = index = 0
            if priors is None:
                weight = urge * root_of_visits
                for score in scores:
                    score += weight / counts[index]
                    if score >= best:
                        second = best
                        best = score
                        place = index
                    elif score > second:
                        second = score
                    index += 1
            else:
                for score in scores:
                    score += constant * priors[index] * root_of_visits / counts[index]
                    if score >= best:
                        second = best
                        best = score
                        place = index
                    elif score > second:
                        second = score
                    index += 1
                weight = constant * priors[place] * root_of_visits
            # The step is the best one as long as its score stays above the bound: those of all others grow by the square
            # root alone, which grows by less than a 2N-th of itself with each visit. So most choices need no look at them.
            growth = constant * priors[-1] * root_of_visits if priors else weight
            growth /= 2.0 * visits * min(counts)
            bound = second + margin
            visit = below[place]
            if visit is None:
                if node.ends[place]:
                    visit = below[place] = repeat(values[place]).__next__
                else:
                    visit = below[place] = self._below(node, place, graph)
            total, count, reward = sums[place], counts[place], rewards[place]
            while True:
                value = visit()
                total += value
                scores[place] = score = reward + discount * (total / count)
                count += 1.0
                counts[place] = count
                visits += 1.0
                yield reward + discount * value
                bound += growth
                if not score + weight / count > bound:
                    break
            sums[place] = total

    def _greatest_score(self, graph: SuppliedGraph) -> float:
        config = self.config
        steps = min(config.max_depth, 1 / (1 - config.discount) if config.discount < 1 else inf)
        explored = config.exploration_constant * sqrt(config.simulations)
        return graph.greatest_reward * steps + graph.greatest_value + explored + 1.0

    def _below(self, node: Node, place: int, graph: SuppliedGraph) -> Callable[[], float]:
        """The visits to what a step leads to, which was visited once before."""
        value = node.values[place]
        if self.nodes >= self.config.max_nodes:
            return repeat(value).__next__
        target = node.targets[place]
        child = Node(target, graph.options[target], node, node.depth + 1, self.config.max_depth)
        child.urge = self.config.exploration_constant * (1.0 / len(child.tools))
        node.children[place] = child
        return self._visits(child, graph, value).__next__


def puct_over(graph: SuppliedGraph, options: Options, config: MCTSConfig, *, prior: bool) -> Puct:
    """The fast way where it does: priors are asked for at the root alone, and generators nest only so deep."""
    at_root = config.max_policy_evaluations == 0 or (config.max_policy_evaluations == 1 and len(options.tools) > 1)
    fast = config.max_depth <= MAX_NESTED and (at_root or not prior)
    return (GraphPuct if fast else Puct)(config, graph, prior=prior)
