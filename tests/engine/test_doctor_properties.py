"""What holds of every examination, whatever the catalog."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from routing.engine import load_registry
from routing.engine.doctor import CODES, SEVERITIES, examine
from routing.engine.doctor.findings import ALIKE
from tests.engine.documents import documents
from tests.engine.test_resolver_properties import endpoints
from tests.engine.tools import document


@given(documents())
@settings(max_examples=60, deadline=None)
def test_every_document_can_be_examined_and_findings_point_into_it(made):
    catalog = load_registry(made)
    for one in examine(catalog).findings:
        section = one.path.split("[")[0]
        place = int(one.path.split("[")[1].split("]")[0])
        assert made[section][place]["name"] == one.name
        assert one.code in CODES and one.severity in SEVERITIES
        assert one.message and one.suggestion.words


@given(endpoints)
@settings(max_examples=40, deadline=None)
def test_an_examination_changes_nothing_and_comes_out_the_same_again(made):
    catalog, before = load_registry(document(*made)), copy.deepcopy(made)

    first, again = examine(catalog), examine(load_registry(document(*made)))

    assert made == before
    assert [one.told() for one in first.findings] == [one.told() for one in again.findings]


@given(endpoints, st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_order_of_endpoints_is_no_matter_to_what_is_found(made, random):
    turned = list(made)
    random.shuffle(turned)

    first, other = (examine(load_registry(document(*one))).findings for one in (made, turned))

    assert {(one.code, frozenset([one.tool or one.name, *one.others])) for one in first if one.code == ALIKE} == {
        (one.code, frozenset([one.tool or one.name, *one.others])) for one in other if one.code == ALIKE
    }
