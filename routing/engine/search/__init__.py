"""Look-ahead: which first step leads to the best end, over a graph or a simulator.

values     bounds, what an environment answers, what was found
graph      a graph that was handed in whole, checked
exact      every path of such a graph, by dynamic programming (`walk` does it for any environment)
tree       the tree that the others grow, and how they ask for a step
puct       visits where prior and mean promise most; the rule that harnesses know
best_path  visits that go to the depth limit; the best of what was found counts
router     the front door: stops, breathes, answers
"""

from routing.engine.search.graph import SuppliedGraph
from routing.engine.search.router import MCTSToolRouter, SearchProgress, solve
from routing.engine.search.values import (
    MCTSConfig,
    MCTSResult,
    PolicyRouter,
    SearchEnvironment,
    SimulatedStep,
    TreeNode,
)

__all__ = [
    "MCTSConfig",
    "MCTSResult",
    "MCTSToolRouter",
    "PolicyRouter",
    "SearchEnvironment",
    "SearchProgress",
    "SimulatedStep",
    "SuppliedGraph",
    "TreeNode",
    "solve",
]
