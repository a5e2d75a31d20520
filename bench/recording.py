"""What recording adds to a resolve: masking and sealing its text, beside the resolve itself, in one process.

    python bench/recording.py [--rounds 5] [--json]

The demo catalog and questions. Times are processor time of the one thread that works, medians over the questions. The sealed
text then goes along with the decision's event, so nothing is sent or written for it before the answer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from cryptography.fernet import Fernet
from django.conf import settings

from control.demo.documents import default_document
from control.demo.requests import read_questions
from routing.engine import load_registry, resolve
from routing.engine.masking import masked


def microseconds(work: Callable[[str], object], texts: Sequence[str], rounds: int) -> float:
    taken = []
    for text in [*texts] * rounds:
        began = time.thread_time_ns()
        work(text)
        taken.append((time.thread_time_ns() - began) / 1000)
    return statistics.median(taken)


def measure(rounds: int) -> dict[str, Any]:
    settings.configure(ENCRYPTION_KEYS=[Fernet.generate_key().decode()])
    from routing.sealing import seal  # it asks for the settings

    catalog = load_registry(default_document())
    texts = list(read_questions()["default"].resolve)

    def record(text: str) -> bytes:
        kept = masked(text)
        return seal(
            {"query": kept, "whole": kept == text, "tier": None, "used": "static", "judge": "0123456789abcdef:0"}
        )

    resolving = microseconds(lambda text: resolve(catalog, text), texts, rounds)
    masking = microseconds(masked, texts, rounds)
    recording = microseconds(record, texts, rounds)
    return {
        "resolve, µs": round(resolving),
        "masking, µs": round(masking),
        "masking and sealing, µs": round(recording),
        "share of the resolve": round(recording / resolving, 3),
        "bytes sealed": round(statistics.mean(len(record(text)) for text in texts)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.rounds)
    print(json.dumps(found, indent=2) if options.json else "\n".join(f"{k:<28}{v}" for k, v in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
