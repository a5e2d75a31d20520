"""What the console says: one sentence for every code that the product may answer, and the words of its statuses."""

from __future__ import annotations

from dataclasses import dataclass

from routing.engine.validation.visible import pieces

GOOD, WARN, NOTE = "good", "warn", "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A machine word and what it means to an operator."""

    code: str
    tone: str  # good | warn | note
    sentence: str


_REASONS: tuple[tuple[str, str, str], ...] = (
    ("single_candidate", NOTE, "Only one tool in scope matched the request, so there is nothing to compare it with."),
    ("score_tie", WARN, "The first two candidates have the same score."),
    ("close_scores", WARN, "The next candidate is too close to tell the two apart."),
    ("weak_coverage", WARN, "Too little of the request speaks for the first candidate."),
    ("low_matched_fraction", WARN, "Most words of a long request matched nothing."),
    ("strong_coverage_and_margin", GOOD, "Most of the request speaks for it, and it leads the next candidate clearly."),
    ("clear_margin", GOOD, "It leads the next candidate clearly."),
    ("no_lexical_overlap", WARN, "No word of the request occurs in any tool of this scope."),
    ("query_too_generic", WARN, "The request holds no word that tells one tool from another."),
    (
        "best_candidate_unavailable",
        WARN,
        "A better candidate exists, but its endpoint was switched off or could not be reached.",
    ),
    ("not_a_request", NOTE, "The text reads like conversation and asks for nothing to be done."),
    ("functional_twins", WARN, "Two tools do the same thing, or their hints say the same; either may serve."),
    ("effect_guard", WARN, "The candidate changes or erases something, and the request does not clearly ask for that."),
    ("negated_action", WARN, "The request says not to do what this tool does."),
    ("low_probability", WARN, "The chance that the first candidate is right is below what the policy asks for."),
    ("semantic_match", NOTE, "The match rests on related meaning rather than on shared words."),
    # why a route was handed back to the planner
    ("planner_only", NOTE, "The policy leaves every choice to the planner."),
    ("no_tools", WARN, "The request offered no tool to choose from."),
    ("no_matching_tool", WARN, "None of the offered tools fits the request."),
    ("no_matching_category", WARN, "None of the offered categories fits the request."),
    ("low_confidence", WARN, "Confidence stayed below the fallback threshold, so the planner chooses."),
    ("low_category_confidence", WARN, "Confidence in the category stayed below the fallback threshold."),
    (
        "planner_confirmation",
        NOTE,
        "Confidence lies between the two thresholds, so the planner is asked to confirm the proposal.",
    ),
    ("provider_error", WARN, "The decision provider did not answer, so the planner chooses."),
    ("router_error", WARN, "The decision provider's answer could not be used, so the planner chooses."),
    ("max_route_steps", WARN, "The session has used all of its routing steps."),
    ("fallback_circuit_open", WARN, "Too many fallbacks in a row: the session's circuit is open until it is reset."),
    ("loop_repeat", WARN, "The session's latest executions are the same action again and again."),
    ("loop_alternation", WARN, "The session's latest executions go back and forth between two actions."),
    ("loop_cycle", WARN, "The session's latest executions go round in a circle."),
    (
        "circuit_opened",
        WARN,
        "With this fallback the session's circuit opened: no more routes until it is reset or time has passed.",
    ),
    ("circuit_closed", NOTE, "This selection closed the session's circuit again."),
    ("missing_openrouter_api_key", WARN, "The provider has no credential, so nothing was asked of it."),
    ("mcts_no_tools", WARN, "The first state offers no tool, so there is nothing to look ahead to."),
    ("mcts_no_simulated_action", WARN, "The search ended before it had tried a first step."),
    ("cancelled", NOTE, "Somebody cancelled the search; this is its best so far."),
    ("mcts_no_evidence", WARN, "The ledger holds too little evidence to look ahead."),
)
REASONS: dict[str, Reason] = {
    code: Reason(code=code, tone=tone, sentence=sentence) for code, tone, sentence in _REASONS
}


def reason(code: str) -> Reason:
    """The sentence for a code; a code that a harness made up is shown as it is."""
    return REASONS.get(code) or Reason(code=code, tone=NOTE, sentence="Reported by the harness.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A verdict's shape (a class of the style sheet) and its word."""

    shape: str
    word: str


_BADGES: dict[str, Badge] = {
    status: Badge(shape=shape, word=word)
    for status, shape, word in (
        ("confident", "confident", "Confident"),
        ("selected", "confident", "Selected"),
        ("ambiguous", "ambiguous", "Ambiguous"),
        ("no_match", "no_match", "No match"),
        ("fallback", "fallback", "Fallback"),
        ("unavailable", "denied", "Unavailable"),
        ("failed", "denied", "Failed"),
        ("allow", "confident", "Allow"),
        ("ask", "ambiguous", "Ask"),
        ("deny", "denied", "Deny"),
        ("cancelled", "no_match", "Cancelled"),
        ("queued", "unknown", "Queued"),
        ("running", "unknown", "Running"),
        ("started", "confident", "Started"),
        ("ok", "confident", "Ok"),
        ("error", "denied", "Error"),
        ("timeout", "denied", "Timed out"),
        ("unknown", "unknown", "Unknown"),
        ("success", "confident", "Success"),
        ("failure", "denied", "Failure"),
        ("partial", "ambiguous", "Partial"),
        ("canary", "unknown", "Canary"),
        ("live", "confident", "Live"),
        ("proposed", "unknown", "Proposed"),
        ("approved", "confident", "Approved"),
        ("rejected", "denied", "Rejected"),
        ("superseded", "no_match", "Superseded"),
        ("unpublished", "no_match", "Not published"),
        ("right", "confident", "Right"),
        ("wrong", "denied", "Wrong"),
        ("done", "confident", "Done"),
        ("refused", "denied", "Refused"),
    )
}


def badge(status: str | None) -> Badge:
    """The shape and word of a status; one that nobody reported is unknown, never good."""
    if not status:
        return _BADGES["unknown"]
    return _BADGES.get(status) or Badge(shape="unknown", word=status)


# The order in which verdicts are drawn and listed, with the states that a decision may be in before it has one.
VERDICTS = ("confident", "selected", "ambiguous", "no_match", "fallback", "failed")

# Which colour a field of the ranking has: teal was written by operators, blue is names and inputs,
# grey is downstream text, violet is what the vectors add.
FIELD_GROUPS = {
    "use_when": "f-hint",
    "tool_use_when": "f-hint",
    "tags": "f-tag",
    "tool": "f-name",
    "title": "f-name",
    "endpoint": "f-name",
    "parameters": "f-input",
    "description": "f-text",
    "endpoint_description": "f-text",
    "vector": "f-meaning",
}
GROUP_ORDER = (
    ("f-hint", "Hints"),
    ("f-tag", "Tags"),
    ("f-name", "Names"),
    ("f-input", "Inputs"),
    ("f-text", "Descriptions"),
    ("f-meaning", "Meaning"),
)

RISKS = ("low", "medium", "high", "critical")
SOURCE_WORDS = {
    "provider": "a provider of the policy",
    "cache": "the route cache",
    "coalesced": "an equal request that was under way",
    "local": "the local ranker",
    "session": "the session's limits",
    "none": "no provider",
}
# Why a choice may be handed back to the planner.
FALLBACKS = (
    *(
        "planner_only",
        "no_tools",
        "no_matching_tool",
        "no_matching_category",
        "low_confidence",
        "low_category_confidence",
    ),
    *("planner_confirmation", "provider_error", "router_error", "max_route_steps", "fallback_circuit_open"),
    *("missing_openrouter_api_key", "mcts_no_tools", "mcts_no_evidence"),
)
# What was called after a recommendation, by the name of its filter.
AGREEMENT_WORDS = {"same": "what was recommended", "other": "something else", "not_called": "no call reported"}
TURN_WORDS = {
    "loop_repeat": "the same action repeated",
    "loop_alternation": "two actions in turns",
    "loop_cycle": "going round in a circle",
    "circuit_opened": "circuit opened",
    "circuit_closed": "circuit closed again",
}
OUTCOME_WORDS = {"failed": "a failure", "reported": "reported"}
LABEL_WORDS = {"right": "labelled right", "wrong": "labelled wrong", "none": "not labelled"}
TYPE_WORDS = {
    "resolve": "resolve",
    "route": "route",
    "search": "look-ahead search",
    "advice": "advice",
    "select": "selection",
}
KIND_CHOICES = (
    ("", "Decisions"),
    ("invocation", "Invocations"),
    ("transport_outcome", "Returns"),
    ("domain_outcome", "Outcomes"),
)
WINDOWS = {"15m": (15, "15 min"), "1h": (60, "1 hour"), "24h": (1440, "24 hours")}


def spelled(text: str) -> str:
    """Text for places that hold no marks (attributes, drawings): what cannot be seen or turns text round stands as "[U+202E]"."""
    return "".join(f"[{code_of(run)}]" if is_hidden else run for run, is_hidden in pieces(text))


def code_of(run: str) -> str:
    """The code of a character, and how often it stands there when that is more than once."""
    return f"U+{ord(run[0]):04X}" + (f" ×{len(run)}" if len(run) > 1 else "")
