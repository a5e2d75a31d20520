from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.templatetags import console
from control.web import figures, words

counts = st.dictionaries(st.sampled_from(words.VERDICTS), st.integers(0, 10**6))
scores = st.lists(st.floats(0.01, 1000), min_size=2, max_size=10).map(lambda values: sorted(values, reverse=True))


@given(counts)
def test_the_split_bar_is_filled_exactly_and_hides_nothing_that_happened(counts):
    parts = figures.split(counts)

    assert [part.count for part in parts] == [counts[s] for s in words.VERDICTS if counts.get(s)]
    assert all(part.width >= figures.SMALLEST * 0.9 for part in parts)
    assert not parts or parts[-1].x + parts[-1].width == pytest.approx(figures.SPLIT_WIDTH, abs=0.1)


@given(scores, st.floats(0, 20))
def test_a_gap_is_drawn_between_the_first_two_and_inside_the_axis(scores, needed):
    candidates = [{"target": f"e__t{n}", "score": score} for n, score in enumerate(scores)]

    gap = figures.gap_scale(figures.WIDE, candidates, needed)

    assert gap.from_x <= gap.to_x
    assert (gap.from_x, gap.to_x) == (gap.dots[1].x, gap.dots[0].x)
    assert all(figures.WIDE.left <= dot.x <= figures.WIDE.right for dot in gap.dots)
    assert gap.gap == pytest.approx(scores[0] - scores[1])


def test_one_candidate_has_no_gap_to_draw():
    assert figures.gap_scale(figures.WIDE, [{"target": "a__b", "score": 3}], 1) is None


@given(scores, st.floats(0.1, 3))
def test_a_candidate_s_bar_is_as_long_as_its_score(scores, factor):
    candidates = [{"target": "a__b", "score": score, "fields": {"tool": score * factor}} for score in scores]

    for bar, score in zip(figures.candidate_bars(candidates), scores, strict=True):
        end = max((part.x + part.width for part in bar.parts), default=0)
        assert end == pytest.approx(100 * score / scores[0], abs=1)


def test_adjustments_are_named_whichever_way_they_go():
    up, down = figures.candidate_bars(
        [{"target": "a__b", "score": 5, "fields": {"tool": 3}}, {"target": "c__d", "score": 1, "fields": {"tags": 3}}]
    )

    assert up.label == "names 3.0, adjustments 2.0"
    assert down.label == "tags 3.0, adjustments −2.0"


def test_what_meaning_brought_is_told_apart_from_descriptions():
    (bar,) = figures.candidate_bars([{"target": "a__b", "score": 5, "fields": {"description": 3, "vector": 2}}])

    assert bar.label == "descriptions 3.0, meaning 2.0"
    assert [part.shape for part in bar.parts] == ["f-text", "f-meaning"]


def test_every_colour_of_a_field_is_drawn_and_named():
    sheet = (Path(__file__).parents[2] / "static" / "app.css").read_text()

    for shape in {shape for shape, _ in words.GROUP_ORDER} | set(words.FIELD_GROUPS.values()):
        assert f".{shape} {{" in sheet
        assert shape in dict(words.GROUP_ORDER)


def test_the_funnel_counts_a_silent_harness_as_unknown():
    drawn = figures.funnel(
        {
            "decisions": 12,
            "recommended": 10,
            "invoked": 8,
            "returned": 5,
            "not_returned": 1,
            "achieved": 2,
            "not_achieved": 1,
        }
    )

    assert [stage.count for stage in drawn.stages] == [10, 8, 5, 2]
    assert [(loss.word, loss.count) for loss in drawn.losses] == [
        ("not called", 2),
        ("no return", 1),
        ("failed, partial", 1),
    ]
    assert drawn.unknown == (8 - 5 - 1) + (5 - 2 - 1)


@pytest.mark.parametrize(
    ("value", "shape"), [(0.59, "fallback"), (0.6, "ambiguous"), (0.849, "ambiguous"), (0.85, "confident")]
)
def test_a_marker_has_the_colour_of_the_zone_that_it_reached(value, shape):
    zones = (("fallback", "handed back"), ("ambiguous", "to confirm"), ("confident", "selected"))

    assert figures.ruler(figures.WIDE, "Confidence", "", value, [0.6, 0.85], zones).shape == shape


def test_every_code_that_an_answer_may_carry_has_a_sentence():
    resolver = "single_candidate score_tie close_scores weak_coverage low_matched_fraction strong_coverage_and_margin clear_margin no_lexical_overlap query_too_generic best_candidate_unavailable not_a_request functional_twins effect_guard negated_action low_probability semantic_match"
    router = "planner_only no_tools no_matching_tool no_matching_category low_confidence low_category_confidence planner_confirmation provider_error router_error max_route_steps fallback_circuit_open missing_openrouter_api_key mcts_no_tools mcts_no_evidence mcts_no_simulated_action cancelled"
    session = "loop_repeat loop_alternation loop_cycle circuit_opened circuit_closed"

    assert set(words.REASONS) == {*resolver.split(), *router.split(), *session.split()}
    assert all(reason.sentence.endswith(".") for reason in words.REASONS.values())


def test_a_status_that_nobody_reported_is_unknown_and_never_good():
    assert words.badge(None).shape == words.badge("").shape == words.badge("made-up").shape == "unknown"


def test_names_are_isolated_and_escaped():
    assert console.pair("git__<b>\u202e") == (
        '<bdi class="pairname"><i>git__</i>&lt;b&gt;'
        '<span class="unseen" title="right-to-left override">U+202E</span></bdi>'
    )


def test_numbers_are_written_with_a_real_minus_and_parted_thousands():
    assert [
        console.figure(-1.25, 1),
        console.figure(-0.001, 1),
        console.figure(1234.5, 1),
        console.figure(None),
        console.count(18204),
    ] == ["−1.2", "0.0", "1,234.5", "–", "18,204"]
    assert [console.figure(-6.7315e99), console.figure(999_999_999_999.0, 0)] == ["−6.73 × 10^99", "999,999,999,999"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(3, "just now"), (59, "59 s ago"), (3600, "1 h ago"), (200_000, "2 d ago")]
)
def test_times_of_acts_are_told_in_the_largest_unit(seconds, said):
    now = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)

    assert console.ago(now - dt.timedelta(seconds=seconds), now) == said


def test_vendored_files_are_what_their_manifest_says():
    vendor = Path("static/vendor")
    packages = json.loads((vendor / "MANIFEST.json").read_text())["packages"]

    for entry in (entry for package in packages for entry in package["files"]):
        assert "sha256:" + hashlib.sha256((vendor / entry["path"]).read_bytes()).hexdigest() == entry["sha256"]
    assert all(any(entry["path"].endswith("LICENSE") for entry in package["files"]) for package in packages)
