from __future__ import annotations

import json
from importlib.resources import files

from routing.engine import concepts


def test_the_classes_that_ship_are_those_of_the_words() -> None:
    kept = json.loads(files("routing.engine").joinpath("data", "classes.json").read_bytes())

    assert kept["of"] == concepts.words_digest(), "run python bench/build_classes.py"
    assert concepts.classes() == concepts.stemmed_classes()
    assert list(concepts.classes()) == list(concepts.stemmed_classes())


def test_a_table_of_other_words_is_not_used(monkeypatch) -> None:
    monkeypatch.setattr(concepts, "THINGS", "zig zag | zis zas")

    assert concepts.classes.__wrapped__()["zig"] == ("zag", "zis", "zas")
