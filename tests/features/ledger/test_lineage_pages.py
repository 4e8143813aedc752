"""How a decision came about, drawn."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.pages.lineage import HEIGHT, WIDTH, drawing
from minutebook.record.records import Authorship, Decision, DecisionStatus
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.features.pages.site import OWNER, Site


def draft(title: str) -> DecisionDraft:
    return DecisionDraft(title, "database", "It takes many writers at once.")


@st.composite
def chains(draw: st.DrawFn) -> list[Decision]:
    """Decisions, each of which took the place of some earlier ones; also of one that is not seen."""
    made: list[Decision] = []
    for number in range(draw(st.integers(0, 12))):
        earlier = [each.id for each in made] + ["unseen"]
        before = draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))
        made.append(
            replace(
                EXAMPLE,
                id=str(number),
                created_at=EXAMPLE.created_at
                + timedelta(hours=draw(st.integers(number, number + 1))),
                supersedes=tuple(before),
                title=draw(st.text(max_size=60)),
            )
        )
    return made


@given(chains())
def test_each_decision_stands_right_of_those_whose_place_it_took_and_none_on_another(
    chain: list[Decision],
) -> None:
    drawn = drawing(chain)
    if drawn is None:
        assert not any(set(each.supersedes) - {"unseen"} for each in chain)
        return
    places = {(box.x, box.y) for box in drawn.boxes}
    assert len(places) == len(drawn.boxes) == len(chain)
    assert all(before.x + WIDTH < after.x for before, after in drawn.arrows)
    assert all(box.x + WIDTH <= drawn.width for box in drawn.boxes)
    assert all(box.y + HEIGHT <= drawn.height for box in drawn.boxes)


def test_a_decision_is_drawn_with_what_it_took_the_place_of(site: Site) -> None:
    old = site.app.get(DecisionActs).record(OWNER, draft("Use SQLite"))
    browser = site.owner()
    assert "lineage" not in browser.get(f"/decisions/{old.id}").text
    long = "Use Postgres, as it takes very many writers at once, and more"
    new = site.app.get(DecisionActs).supersede(OWNER, [old.id], draft(long))
    page = browser.get(f"/decisions/{new.id}").text
    drawn = page[page.index('<svg class="lineage"') : page.index("</svg>")]
    assert drawn.count("<line") == 1
    assert f'href="/decisions/{old.id}"' in drawn
    assert 'class="status-active current"' in drawn
    assert ">Use Postgres, as it takes<" in drawn
    assert "very many writers at once…<" in drawn


EXAMPLE = Decision(
    organization="default",
    id="0",
    title="Use SQLite",
    target="database",
    rationale="It takes one writer at once.",
    status=DecisionStatus.ACTIVE,
    authorship=Authorship.HUMAN,
    author="ada",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)
