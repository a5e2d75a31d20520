from __future__ import annotations

import subprocess
import sys

import pytest

from routing.engine.stemmers import stemmer


@pytest.mark.parametrize(
    ("language", "word", "stem"), [("english", "running", "run"), ("german", "laufende", "laufend")]
)
def test_a_stemmer_is_that_of_the_package(language: str, word: str, stem: str) -> None:
    assert stemmer(language)().stemWord(word) == stem


def test_one_language_is_loaded_and_the_package_is_whole_afterwards() -> None:
    program = """
import sys
from routing.engine.stemmers import stemmer
stemmer("english")
assert "snowballstemmer.turkish_stemmer" not in sys.modules
import snowballstemmer
assert snowballstemmer.stemmer("turkish").stemWord("evler") == "ev"
assert isinstance(snowballstemmer.stemmer("english"), stemmer("english"))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
