"""What is stored: the registry's working copy, its revisions, decisions, the ledger and the audit log."""

from routing.models.actor import Actor
from routing.models.audit import AuditEntry, AuditHead
from routing.models.calibrations import CalibrationRow
from routing.models.canaries import CanaryRow
from routing.models.checks import Check
from routing.models.decisions import Decision
from routing.models.examinations import Examination, IgnoredFinding
from routing.models.inspections import Inspection
from routing.models.labels import Label
from routing.models.ledger import ChainHead, Event, Minute, PendingEvent, Receipt
from routing.models.providers import ProviderHour, ProviderSetting
from routing.models.recordings import Recording
from routing.models.registry import (
    CapabilityRow,
    EndpointRow,
    EntryRow,
    PolicyRow,
    ScopeRow,
    ToolRow,
)
from routing.models.replays import Replay
from routing.models.revisions import Edit, Entry, Generation, Remark, Review, Revision, Schedule
from routing.models.searches import Search
from routing.models.shadow_policies import ShadowDifference, ShadowPolicy
from routing.models.sources import SourceCheck
from routing.models.vectors import TextVector
from routing.models.workspaces import Workspace

__all__ = [
    "Actor",
    "AuditEntry",
    "AuditHead",
    "CalibrationRow",
    "CanaryRow",
    "CapabilityRow",
    "ChainHead",
    "Check",
    "Decision",
    "Edit",
    "EndpointRow",
    "Entry",
    "EntryRow",
    "Event",
    "Examination",
    "Generation",
    "IgnoredFinding",
    "Inspection",
    "Label",
    "Minute",
    "PendingEvent",
    "PolicyRow",
    "ProviderHour",
    "ProviderSetting",
    "Receipt",
    "Recording",
    "Remark",
    "Replay",
    "Review",
    "Revision",
    "Schedule",
    "ScopeRow",
    "Search",
    "ShadowDifference",
    "ShadowPolicy",
    "SourceCheck",
    "TextVector",
    "ToolRow",
    "Workspace",
]
