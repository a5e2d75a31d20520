"""The execution rules on a policy's page: each with its fields, in words, and with what is to be said of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from control.web import policy_settings
from control.web.forms.policies import FACTS, INHERITED, RulesForm
from control.web.policy_settings import Layers
from routing.engine.execution import rule_id
from routing.engine.execution_ground import rules_owner
from routing.engine.execution_review import NEVER, review_rules
from routing.engine.inference import CATEGORIES
from routing.engine.policies import EFFECTS, RISKS, VERDICTS, known_policies
from routing.manifests import entries_of
from routing.models import Decision, Revision
from routing.working import WorkingCopy

_RULE = re.compile(r"rules\[(\d+)\]")
_WORDS = {fact: fact.capitalize() for fact in FACTS} | {"min_confidence": "Confidence"}
MOST_OFFERED = 300  # endpoints that a field offers by name


def told(copy: WorkingCopy, layers: Layers, body: Mapping[str, Any], posted: Mapping[str, Any]) -> dict[str, Any]:
    """The context of `policies/_rules.html`."""
    mine = (posted.get("part"), posted.get("key")) == ("execution", "rules")
    held = policy_settings.held(body, "execution", "rules")
    standing = RulesForm.of(
        list(layers.effective.execution["rules"]), policy_settings.mark(body, "execution", "rules", held)
    )
    # What was given up is shown as it is inherited now.
    form = posted["form"] if mine and not (posted["form"].saved and held == INHERITED) else standing
    as_saved = not mine or form.saved or form.cleaned() == standing.cleaned()
    return {
        "rules": _lines(form, _notes(copy, layers.name) if as_saved else {}),
        "rules_form": form,
        "rules_own": held != INHERITED,
        "rules_above": above(layers),
        "rules_conflict": posted.get("conflict") if mine else None,
        "effects": EFFECTS,
        "risk_words": RISKS,
        "verdicts": VERDICTS,
        "categories": CATEGORIES,
        "some_endpoints": sorted(one.name for one in copy.registry.endpoints)[:MOST_OFFERED],
    }


def above(layers: Layers) -> Sequence[Mapping[str, Any]]:
    """The rules that the policy would have if it said nothing of them."""
    return next((one.execution["rules"] for one in layers.chain[1:] if "rules" in one.execution), ())


def rule_of(decision: Decision) -> dict[str, str] | None:
    """The rule that gave a decision its execution verdict, in words, as its revision had it; None where a default did."""
    met = _RULE.fullmatch((decision.execution or {}).get("rule", ""))
    if met is None or decision.revision is None:
        return None
    row = Revision.objects.filter(workspace=decision.workspace_id, number=decision.revision).first()
    if row is None:
        return None
    policies = {one["name"]: one for one in entries_of(row, "policies")}
    name = decision.policy
    while name in policies and "rules" not in policies[name].get("execution", {}):
        name = policies[name].get("extends", "")  # ends: no published policy extends itself
    rules = policies.get(name, {}).get("execution", {}).get("rules", ())
    place = int(met[1])
    return {"policy": name, "words": policy_settings.rule_words(rules[place])} if place < len(rules) else None


def _lines(form: RulesForm, notes: Mapping[int, Sequence[Any]]) -> list[dict[str, Any]]:
    """One for each rule of the form; one without a verdict is none yet, and has no id."""
    said = dict(zip(form.places, enumerate(form.cleaned()), strict=True))
    lines = []
    for place, rule in enumerate(form.rules):
        number, rule_ = said.get(place, (None, None))
        lines.append(
            {
                "place": place,
                "number": place + 1,
                "rule": rule,
                "id": "" if number is None else rule_id(number),
                "words": "Choose a verdict to make this a rule."
                if rule_ is None
                else policy_settings.rule_words(rule_),
                "notes": [] if number is None else notes.get(number, []),
                "problems": {fact: form.problems.get((place, fact), "") for fact in FACTS},
                "wrong": [(_WORDS[fact], words) for (at, fact), words in form.problems.items() if at == place],
            }
        )
    return lines


def _notes(copy: WorkingCopy, name: str) -> dict[int, list[dict[str, Any]]]:
    """By place: what the engine finds of the rules that a policy comes to, in sentences."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    owner = rules_owner(name, known_policies(copy.registry.policies))
    for note in review_rules(copy.registry, owner) if owner else ():
        words = note.message[0].upper() + note.message[1:] + "."
        found[note.place].append({"code": note.code, "words": words, "dead": note.code == NEVER})
    return found
