"""Stem the classes of words that ship with the engine: routing/engine/data/classes.json. Run it after changing `concepts`.

python bench/build_classes.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from routing.engine import concepts

TARGET = Path(concepts.__file__).parent / "data" / "classes.json"


def main() -> None:
    stemmed = {one: " ".join(others) for one, others in concepts.stemmed_classes().items()}
    kept = {"of": concepts.words_digest(), "classes": stemmed}
    TARGET.write_text(json.dumps(kept, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(stemmed)} stems in {TARGET}")


if __name__ == "__main__":
    main()
