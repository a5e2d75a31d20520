from __future__ import annotations

from pathlib import Path

import pytest

from control.web.policy_settings import TITLES, bounds, places, told
from routing.engine.policies import BLOCKS

DOCS = (Path(__file__).parent.parent / "docs" / "policies.md").read_text(encoding="utf-8")


def test_every_block_has_a_title_for_people():
    assert set(TITLES) == set(BLOCKS)


@pytest.mark.parametrize("block", TITLES)
def test_the_page_of_the_docs_says_of_each_setting_what_the_table_says(block):
    for at in places(block):
        setting = at.setting
        allowed = " ".join(filter(None, (bounds(setting), setting.unit)))
        assert f"| `{block}.{at.key}` | {told(setting.default)} | {allowed} | {setting.meaning} |" in DOCS
