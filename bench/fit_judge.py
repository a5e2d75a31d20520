"""Fit the two heads of the judge on labelled questions, and say what they are worth on catalogs they were not fitted on.

    python bench/fit_judge.py --data DIR [--sets metatool,bfcl,…] [--encoder DIR] [--out routing/engine/data/judge.json]

With `--encoder`, a folder made by `manage.py build_encoder`, the heads of the deep tier are fitted too (this needs the package
onnxruntime); without it those in the file stay as they are, unless the judge's features have changed.

Every set is a folder with `catalog.json` ({"tools": [{server, name, description, input_schema, use_when}]}) and
`queries.jsonl` ({id, query, gold: [server__name], kind, split}). Each question is asked twice: of the whole catalog, and of
one where a fifth of the tools is unplugged, so that some questions lose every right tool. One head learns whether any tool
fits, the other whether the first is right where one fits. Every question weighs the same. Printed: for each set,
the heads fitted on the other sets. Written: the heads fitted on all, with the hash of the data and the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import load_registry
from routing.engine.encoder import Encoder, TextVectors, rounded, texts_of
from routing.engine.meaning import shipped_vectors
from routing.engine.policy import Thresholds, doubts, features
from routing.engine.query import read_request
from routing.engine.scoring import rank_view

Array = npt.NDArray[np.float64]

UNPLUGGED = 0.2
RIDGE = 4e-4
BINS = 15
# What each head looks at. More was tried: each further feature made both worse on catalogs left out.
MATCH = (
    "support",
    "name_coverage",
    "terms",
    "strange",
    "head_missed",
    "strength",
    "wording",
    "wording_lead",
    "likeness",
)
RIGHT = ("margin", "coverage", "name_coverage", "short", "strange", "strength")
MEANING_ONLY = ("likeness",)
CONFIDENT_AT = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    features: Mapping[str, float]
    kind: str  # in | far | near
    right: bool
    sure: bool  # no guard forbids confidence


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--sets", default="metatool,bfcl,mcp_servers,clinc_oos")
    asked.add_argument("--split", default="dev")
    asked.add_argument("--encoder", type=Path, help="folder of the local encoder: fit the deep tier too")
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    if given.encoder:
        Asked.texts = Texts(given.encoder)
    names = given.sets.split(",")
    fitted: dict[str, Any] = {"sets": names, "data": digest(given.data, names), "heads": {}, "left_out": {}}
    for tier in ("lexical", "static", *(("deep",) if given.encoder else ())):
        rows = {name: read_set(given.data / name, given.split, tier) for name in names}
        fitted["left_out"][tier] = {name: left_out(rows, name, tier) for name in names}
        fitted["heads"][tier] = told(fit(list(rows.values()), tier), tier)
        for name, figures in fitted["left_out"][tier].items():
            print(tier, name, json.dumps(figures))
        mean = {
            key: round(float(np.mean([one[key] for one in fitted["left_out"][tier].values()])), 3) for key in figures
        }
        fitted["left_out"][tier]["mean"] = mean
        print(tier, "mean", json.dumps(mean), flush=True)
    if given.out and not given.encoder:
        keep_deep(given.out, fitted)
    if given.out:
        given.out.write_text(json.dumps(fitted, indent=1) + "\n")


def keep_deep(path: Path, fitted: dict[str, Any]) -> None:
    """The deep tier's heads from the file as it was; they go when they weigh what the judge no longer looks at."""
    before = json.loads(path.read_text()) if path.exists() else {"heads": {}}
    deep = before["heads"].get("deep")
    if deep is None or any(deep[head].keys() != fitted["heads"]["static"][head].keys() for head in ("match", "right")):
        print("no heads for the deep tier: fit them with --encoder")
        return
    fitted["heads"]["deep"] = deep
    fitted["left_out"]["deep"] = before["left_out"]["deep"]


def digest(folder: Path, names: Sequence[str]) -> str:
    whole = hashlib.sha256()
    for name in names:
        for file in ("catalog.json", "queries.jsonl"):
            whole.update(hashlib.sha256((folder / name / file).read_bytes()).digest())
    return f"sha256:{whole.hexdigest()}"


def read_set(folder: Path, split: str, tier: str) -> list[Row]:
    tools = json.loads((folder / "catalog.json").read_text())["tools"]
    lines = (folder / "queries.jsonl").read_text().splitlines()
    questions = [json.loads(line) for line in lines]
    questions = [
        one for one in questions if one.get("split", "dev") == split and one["kind"] != "irrelevant_to_candidates"
    ]
    kept = [tool for tool in tools if share(f"near1|{identity(tool)}") >= UNPLUGGED]
    return [
        *(row for one in questions if (row := ask(Asked(tools, tier), one)) is not None),
        *(row for one in questions if (row := ask(Asked(kept, tier), one, "near")) is not None),
    ]


class Texts:
    """What the local encoder makes of texts, each read once."""

    def __init__(self, folder: Path) -> None:
        from routing.providers.encoders.local import LocalEncoder

        self._encoder = LocalEncoder(folder)
        self._known: dict[str, Any] = {}

    def vectors(self, texts: Sequence[str]) -> list[Any]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._encoder.encode(new), strict=True) if new else ())
        return [self._known[text] for text in texts]


class Asked:
    """A catalog that is asked questions; made once for each list of tools."""

    texts: Texts | None = None
    _made: dict[int, Asked] = {}

    def __new__(cls, tools: list[dict[str, Any]], tier: str) -> Asked:
        known = cls._made.get(id(tools))
        if known is None or known.tier != tier:
            known = cls._made[id(tools)] = super().__new__(cls)
            known._compile(tools, tier)
        return known

    def _compile(self, tools: list[dict[str, Any]], tier: str) -> None:
        self.tier, self.tools = tier, tools  # kept, so that no other list takes their place in memory
        self.identities = {(tool["server"].lower(), tool["name"]): identity(tool) for tool in tools}
        endpoints: dict[str, dict[str, Any]] = {}
        for tool in tools:
            name = tool["server"].lower()
            one = endpoints.setdefault(
                name,
                {"name": name, "kind": "declared", "description": tool.get("server_description", ""), "tools": []},
            )
            made = {"name": tool["name"], "description": tool.get("description", "")}
            one["tools"].append({**made, "input_schema": tool.get("input_schema") or {}})
            if tool.get("use_when"):
                one.setdefault("tool_use_when", {})[tool["name"]] = tool["use_when"]
        self.catalog = load_registry({"version": 1, "endpoints": list(endpoints.values())})
        self.vectors = None if tier == "lexical" else shipped_vectors()
        self.deep = None
        if tier == "deep" and self.texts is not None:
            docs = self.catalog.index.docs
            said = [text for doc in docs for text in texts_of(doc)]
            rows = map(rounded, self.texts.vectors(said))
            self.deep = TextVectors(docs, dict(zip(said, rows, strict=True)))

    def encoder(self, query: str) -> Encoder | None:
        """How near the tools come to a query, in the deep tier."""
        if self.deep is None or self.texts is None:
            return None
        return self.deep.asked(self.texts.vectors([query])[0])


def identity(tool: Mapping[str, Any]) -> str:
    return f"{tool['server']}__{tool['name']}"


def share(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 10000 / 10000


def ask(asked: Asked, question: Mapping[str, Any], unfit: str = "far") -> Row | None:
    """One question's row; None for small talk and empty rankings, which no number judges."""
    query = question["query"].encode()[:2048].decode(errors="ignore")
    request = read_request(query)
    ranking = rank_view(
        asked.catalog.view("default"), request, limit=20, vectors=asked.vectors, encoder=asked.encoder(query)
    )
    gold = set(question["gold"])
    left = gold & set(asked.identities.values())
    if request.small_talk or not request.content or not ranking.candidates or (unfit == "near" and not gold):
        return None
    doc = ranking.candidates[0].doc
    sure = not doubts(ranking, Thresholds(risk_at={}))
    return Row(
        features=features(ranking),
        kind="in" if left else unfit,
        right=asked.identities[(doc.endpoint.name, doc.wire)] in left,
        sure=sure,
    )


def columns(rows: Sequence[Row], names: Sequence[str]) -> Array:
    return np.array([[1.0, *(row.features[name] for name in names)] for row in rows])


def looked_at(tier: str) -> tuple[list[str], list[str]]:
    """The features of the first head and of the second."""
    match, right = (
        [name for name in names if tier != "lexical" or name not in MEANING_ONLY] for names in (MATCH, RIGHT)
    )
    return match, right


def fit(sets: Sequence[Sequence[Row]], tier: str) -> tuple[Array, Array]:
    """(weights of the first head, weights of the second), each with the intercept first."""
    rows = [row for one in sets for row in one]
    weights = np.ones(len(rows))
    matching, telling = looked_at(tier)
    fits = np.array([row.kind == "in" for row in rows])
    right = np.array([row.right for row in rows], np.float64)
    match = logistic(columns(rows, matching), fits.astype(np.float64), weights)
    return match, logistic(columns(rows, telling)[fits], right[fits], weights[fits])


def logistic(given: Array, labels: Array, weights: Array) -> Array:
    """Newton's method on the ridge-penalised log loss."""
    weights = weights / weights.sum()
    found = np.zeros(given.shape[1])
    penalty = RIDGE * np.eye(len(found))
    penalty[0, 0] = 0
    for _ in range(40):
        chance = 1 / (1 + np.exp(-given @ found))
        slope = given.T @ (weights * (chance - labels)) + penalty @ found
        curve = (given * (weights * chance * (1 - chance))[:, None]).T @ given + penalty
        found -= np.linalg.solve(curve, slope)
    return found


def told(heads: tuple[Array, Array], tier: str) -> dict[str, dict[str, float]]:
    return {
        head: dict(zip(["intercept", *names], (round(value, 3) for value in weights.tolist()), strict=True))
        for head, names, weights in zip(("match", "right"), looked_at(tier), heads, strict=True)
    }


def chances(heads: tuple[Array, Array], rows: Sequence[Row], tier: str) -> tuple[Array, Array]:
    """What each head says of these questions: that some tool fits, and that the first is right where one does."""
    match, right = (
        1 / (1 + np.exp(-columns(rows, names) @ weights)) for names, weights in zip(looked_at(tier), heads, strict=True)
    )
    return match, right


def left_out(rows: Mapping[str, Sequence[Row]], name: str, tier: str) -> dict[str, float]:
    """What the heads that were fitted on the other sets say of this one."""
    heads = fit([one for other, one in rows.items() if other != name], tier)
    match, likely = chances(heads, rows[name], tier)
    probability = match * likely
    right = np.array([row.right for row in rows[name]], np.float64)
    kinds = np.array([row.kind for row in rows[name]])
    sure = (probability >= CONFIDENT_AT) & np.array([row.sure for row in rows[name]])
    return {
        "ece": round(error(probability, right), 3),
        "far": round(auroc(match[kinds == "in"], match[kinds == "far"]), 3),
        "near": round(auroc(match[kinds == "in"], match[kinds == "near"]), 3),
        "confident_share": round(float(sure.mean()), 3),
        "confident_right": round(float(right[sure].mean()) if sure.any() else 1.0, 3),
    }


def error(chances: Array, labels: Array) -> float:
    """Expected calibration error over bins of equal size."""
    parts = np.array_split(np.argsort(chances), BINS)
    return float(sum(len(one) / len(chances) * abs(chances[one].mean() - labels[one].mean()) for one in parts))


def auroc(fitting: Array, unfitting: Array) -> float:
    """How often a question that has a tool is judged likelier to have one than a question that has none."""
    if not len(fitting) or not len(unfitting):
        return 1.0
    order = np.sort(unfitting)
    below, level = np.searchsorted(order, fitting), np.searchsorted(order, fitting, "right")
    return float((below + level).mean() / 2 / len(order))


if __name__ == "__main__":
    main()
