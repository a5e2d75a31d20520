"""Best path: each visit goes down to the depth limit, and a node is worth the best of its steps, not their mean.

What was seen whole is known. What was not is expected to be like what was seen at the same depth: rewards there have a
mean and a spread, so every step has an expected value and a doubt. Visits go where they may change which first step is best,
and nowhere where all is known. Nothing is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, exp, pi, sqrt
from typing import Any

from routing.engine.search.exact import last_best
from routing.engine.search.graph import Options, SuppliedGraph
from routing.engine.search.tree import AskStep, AskTools, Node, Search, TreeSearch
from routing.engine.search.values import MCTSConfig

# How many steps of other depths a depth's own few are held against.
BORROWED = 2.0
# Beliefs about the unseen are formed anew when this much more has been seen.
REFRESH = 1.1
# How many standard deviations more than expected a step below the root is given credit for.
DARING = 2.0
PAUSE_EVERY = 16

Belief = tuple[float, float]  # mean and variance
NOTHING: Belief = (0.0, 0.0)
_HALF = 1 / sqrt(2)
_DENSITY = 1 / sqrt(2 * pi)


class BestPath(TreeSearch):
    """Stops before its simulations are used up when everything is known: `root.open` is 0 then."""

    def __init__(self, config: MCTSConfig, graph: SuppliedGraph | None, *, prior: bool) -> None:
        super().__init__(config, graph, prior=prior)
        self.seen = Seen(config.discount)

    def run(self, state: Any, options: Options) -> Search:
        self.root = root = yield from self.prepare(state, options, None, 0)
        while self.simulations < self.config.simulations and root.open and self.nodes < self.config.max_nodes:
            if not self.simulations % PAUSE_EVERY or self.graph is None:
                yield None
            yield from self._visit(root)
            self.simulations += 1

    def _visit(self, root: Node) -> Search:
        node: Node | None = root
        last = root
        while node is not None:
            last = node
            node.place = place = self._where_to(node)
            if node.counts[place] == 1.0:
                yield from self._try(node, place)
            node = node.children[place]
        self._back_up(last)

    def _try(self, node: Node, place: int) -> Search:
        """Take a step for the first time, and look which tools there are behind it."""
        if self.graph is None:
            step = yield AskStep(node.state, node.tools[place])
            node.targets[place], node.rewards[place] = step.target, step.reward
            node.values[place], node.terminals[place] = step.value, step.terminal
            node.ends[place] = node.ends[place] or step.terminal
        target, below = node.targets[place], None
        if not node.ends[place]:
            options = self.graph.options[target] if self.graph is not None else (yield AskTools(target))
            if options.tools:
                below = yield from self.prepare(target, options, node, node.depth + 1)
        # Only from here on is the tree changed: a search may be left at any yield.
        self.nodes += 1
        node.left -= 1
        node.children[place] = below
        if below is None:
            node.open -= 1
        self.seen.add(node.depth, node.rewards[place], None if below else node.values[place], below)

    def _back_up(self, node: Node | None) -> None:
        self.seen.refresh()
        discount = self.config.discount
        while node is not None:
            place = node.place
            below = node.children[place]
            mean, variance = (node.values[place], 0.0) if below is None else self._belief(below)
            if below is not None and not below.open:
                node.open -= 1  # visits take open steps only, so this was one until now
            node.counts[place] += 1.0
            node.scores[place] = node.rewards[place] + discount * mean
            node.sums[place] = discount * discount * variance
            node = node.parent

    def _belief(self, node: Node) -> Belief:
        """What the best step of a node is worth."""
        found = self.seen.best_of(node.depth, node.left) if node.left else None
        for place in node.tried():
            step = node.scores[place], node.sums[place]
            found = step if found is None else greater_of(found, step)
        return found or NOTHING

    def _where_to(self, node: Node) -> int:
        """Which step a visit takes. Of equal ones the least visited, then the one that ties go to.

        At the root, once each was taken: where more is expected to change which is best by most. Below it, where the
        worth of the step above may come from: the greatest of what is expected and DARING times the doubt about it.
        """
        untried = -1
        if node.left:
            untried = (node.order or range(len(node.tools)))[len(node.tools) - node.left]
            if node.parent is None:
                return untried
        offers = [(node.scores[place], node.sums[place], place) for place in node.tried()]
        hope = (
            self._changes(offers) if node.parent is None else [mean + DARING * sqrt(doubt) for mean, doubt, _ in offers]
        )
        keys = [
            (gain, -node.counts[place], place)
            for gain, (_, _, place) in zip(hope, offers, strict=True)
            if (below := node.children[place]) is not None and below.open
        ]
        if untried >= 0:
            mean, doubt = self.seen.step_at(node.depth)
            keys.append((mean + DARING * sqrt(doubt), -1.0, untried))
        return max(keys)[2]

    def _changes(self, offers: Sequence[tuple[float, float, int]]) -> list[float]:
        """What each step is expected to gain on the best, and the best to lose to the second."""
        means = [mean for mean, _, _ in offers]
        ahead = last_best(means)
        second = max((mean for place, mean in enumerate(means) if place != ahead), default=means[ahead])
        return [
            expected_gain(second - mean if place == ahead else mean - means[ahead], doubt)
            for place, (mean, doubt, _) in enumerate(offers)
        ]

    def best(self, node: Node) -> int | None:
        """The greatest expected value, then the later of equal ones as steps stand."""
        tried = node.tried()
        return max(tried, key=lambda place: (node.scores[place], place)) if tried else None


@dataclass(slots=True)
class Pool:
    """Numbers seen, kept as their count, sum and sum of squares."""

    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, number: float) -> None:
        self.count += 1
        self.total += number
        self.squares += number * number

    def belief(self, beside: Pool | None = None) -> Belief:
        """Mean and variance, with BORROWED of another pool's numbers mixed in."""
        count, total, squares = self.count, self.total, self.squares
        if beside is not None and beside.count:
            count += BORROWED
            total += BORROWED * beside.total / beside.count
            squares += BORROWED * beside.squares / beside.count
        if not count:
            return NOTHING
        mean = total / count
        return mean, max(squares / count - mean * mean, 0.0)


class Seen:
    """What steps brought, by depth, and what is expected of those that were not taken."""

    def __init__(self, discount: float) -> None:
        self.discount = discount
        self._rewards: list[Pool] = []
        self._ends: list[Pool] = []  # values of states after which nothing follows
        self._tools: list[Pool] = []  # tools of the states reached
        self._all = Pool()
        self._steps: list[Belief] = []
        self._due = 0.0

    def add(self, depth: int, reward: float, end: float | None, below: Node | None) -> None:
        while len(self._rewards) <= depth:
            for pools in (self._rewards, self._ends, self._tools):
                pools.append(Pool())
        self._rewards[depth].add(reward)
        self._all.add(reward)
        if below is None:
            self._ends[depth].add(end or 0.0)
        else:
            self._tools[depth].add(len(below.tools))

    def refresh(self) -> None:
        """From the deepest step up: a step's worth is its reward and the best of what follows."""
        if self._all.count < self._due:
            return
        self._due = self._all.count * REFRESH
        self._steps = [NOTHING] * len(self._rewards)
        for depth in range(len(self._rewards) - 1, -1, -1):
            mean, variance = self._rewards[depth].belief(self._all)
            follows, doubt = self._what_follows(depth)
            self._steps[depth] = mean + self.discount * follows, variance + self.discount**2 * doubt

    def _what_follows(self, depth: int) -> Belief:
        """After some steps nothing follows, after others the best of as many steps as there usually are."""
        ends, goes_on = self._ends[depth], self._tools[depth]
        end = ends.belief()
        if not goes_on.count or depth + 1 >= len(self._steps):
            return end
        best = self.best_of(depth + 1, max(round(goes_on.total / goes_on.count), 1))
        share = ends.count / (ends.count + goes_on.count)
        mean = share * end[0] + (1 - share) * best[0]
        squares = share * (end[1] + end[0] ** 2) + (1 - share) * (best[1] + best[0] ** 2)
        return mean, max(squares - mean * mean, 0.0)

    def step_at(self, depth: int) -> Belief:
        return self._steps[depth] if depth < len(self._steps) else NOTHING

    def best_of(self, depth: int, count: int) -> Belief:
        """The greatest of so many steps that were not taken."""
        power, found = self.step_at(depth), None
        while count:
            if count & 1:
                found = power if found is None else greater_of(found, power)
            power = greater_of(power, power)
            count >>= 1
        return found or NOTHING


def greater_of(one: Belief, other: Belief) -> Belief:
    """Mean and variance of the greater of two independent normal quantities (Clark 1961)."""
    mean, variance = one
    mean_, variance_ = other
    spread = sqrt(variance + variance_)
    if spread <= 1e-12 * (abs(mean) + abs(mean_)):
        return one if mean >= mean_ else other
    apart = (mean - mean_) / spread
    share = 0.5 * (1 + erf(apart * _HALF))
    density = _DENSITY * exp(-0.5 * apart * apart) * spread
    greater = mean * share + mean_ * (1 - share) + density
    squares = (mean * mean + variance) * share + (mean_ * mean_ + variance_) * (1 - share) + (mean + mean_) * density
    return greater, max(squares - greater * greater, 0.0)


def expected_gain(ahead: float, variance: float) -> float:
    """By how much a normal quantity is expected to be above zero, counting nothing where it is below."""
    if variance <= 0.0:
        return max(ahead, 0.0)
    spread = sqrt(variance)
    apart = ahead / spread
    return ahead * 0.5 * (1 + erf(apart * _HALF)) + spread * _DENSITY * exp(-0.5 * apart * apart)
