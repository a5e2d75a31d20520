from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from control.models import Preference
from tests.cast import person


@pytest.fixture(autouse=True)
def _zone():
    yield
    timezone.deactivate()


def test_a_theme_follows_its_person_to_another_browser(workspace):
    ada = person("ada", workspace)
    here, there = Client(), Client()
    here.force_login(ada)
    there.force_login(ada)

    here.post("/theme", {"theme": "dark"})

    assert b'data-theme="dark"' in there.get("/w/acme/").content
    assert b'data-theme="auto"' in Client().get("/sign-in").content


def test_times_are_told_in_the_zone_of_the_viewer(enter, decide):
    decide()
    tokyo, utc = enter("viewer"), enter("editor")

    response = tokyo.post("/zone", {"zone": "Asia/Tokyo", "next": "/w/acme/decisions"})

    assert response["Location"] == "/w/acme/decisions"
    told = [_title(client.get("/w/acme/decisions")) for client in (tokyo, utc)]
    assert told[0].endswith("JST") and told[1].endswith("UTC")
    assert told[0][-12:-3] != told[1][-12:-3]


def _title(response) -> str:
    return re.search(r'<time datetime="[^"]*Z" title="([^"]*)"', response.content.decode()).group(1)


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../../etc/passwd", "x" * 10_000, "<script>"])
def test_a_zone_that_is_not_known_changes_nothing_and_says_so(admin, zone):
    response = admin.post("/zone", {"zone": zone, "next": "/w/acme/"}, follow=True)

    assert "That time zone is not known" in response.content.decode()
    assert not Preference.objects.exclude(time_zone="").exists()


def test_a_visitor_chooses_no_zone(db):
    assert Client().post("/zone", {"zone": "Asia/Tokyo"})["Location"] == "/sign-in"


def test_a_preference_costs_no_query_of_its_own(admin, django_assert_max_num_queries, workspace):
    admin.post("/zone", {"zone": "Asia/Tokyo"})
    with django_assert_max_num_queries(5) as asked:
        admin.get("/w/acme/panels/tail")

    assert sum('FROM "control_preference"' in query["sql"] for query in asked.captured_queries) == 0
