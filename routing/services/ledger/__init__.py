"""The ledger: accept reports, append events to the workspace's chain, verify it."""

from routing.services.ledger.accept import Acceptance, Report, accept, keep, on_wake, record, record_on_loop
from routing.services.ledger.verify import Verification, verify
from routing.services.ledger.write import write

__all__ = [
    "Acceptance",
    "Report",
    "Verification",
    "accept",
    "keep",
    "on_wake",
    "record",
    "record_on_loop",
    "verify",
    "write",
]
