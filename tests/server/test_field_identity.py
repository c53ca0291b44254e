"""What was met in the field with a session whose id changes under a server."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from tests.server.test_field_delivery import begin, given
from tests.support.fake_client import FLAGGED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.test_inbound import Story

__all__ = ["begin"]


def session_of(story: Story) -> str:
    """The id that `ways_status` tells."""
    return str(story.client.call_tool("ways_status")["structuredContent"]["session"]["id"])


@pytest.mark.demand("SRV-9", "ID-1", "ATT-6")
@pytest.mark.field_report(38)
def test_a_record_that_keeps_the_old_id_for_a_while_and_then_flips_loses_no_mail_to_either(
    begin: Callable[..., Story],
) -> None:
    story = begin(argv=FLAGGED).ready()
    old = story.client.session_id
    newer = os.path.join(os.path.dirname(story.client.transcript_path()), "11111111-2222-4333-8444-555555555555.jsonl")
    shutil.copyfile(story.client.transcript_path(), newer)
    os.utime(newer, (time.time() + 60, time.time() + 60))
    assert session_of(story) == old  # a newer transcript of the same folder proves nothing
    before = story.send("while the record still says the old id", to=old)
    story.wait_seen(before)
    new = story.client.clear()
    assert session_of(story) == new
    after = [story.send("to the old id", to=old), story.send("to the new id", to=new)]
    story.wait_seen(*after)
    assert [given(story, signal) for signal in (before, *after)] == [1, 1, 1]
