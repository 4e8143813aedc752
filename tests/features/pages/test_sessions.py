"""Sessions on pages: a transcript in order, its summary, a search inside."""

from dataclasses import replace

from minutebook.record.caller import Caller
from minutebook.record.records import Role
from tests.features.pages.site import AGENT, OWNER, Site


def test_sessions_are_listed_the_last_written_first_by_what_was_asked(site: Site) -> None:
    for number in range(25):
        site.app.sessions.add(AGENT, f"session {number}", f"Question {number}?", "t", "r")
    browser = site.owner()
    page = browser.get("/sessions").text
    assert page.index("Question 24?") < page.index("Question 5?")
    assert "Question 4?" not in page
    assert "1–20 of 25" in page
    assert "Question 4?" in browser.get("/sessions?from=20").text


def test_a_session_says_its_project_client_length_and_age_and_is_found_by_its_project(
    site: Site,
) -> None:
    for project in ("kettle", "pot"):
        of = replace(AGENT, repositories=frozenset({project}))
        for prompt in (f"What is a {project}?", "And why?"):
            site.app.sessions.add(of, f"in {project}", prompt, "", "Iron.")
    browser = site.owner()
    page = browser.get("/sessions").text
    assert "What is a kettle?</bdi>" in page
    assert (
        '<bdi class="project" title="kettle">kettle</bdi> · <bdi>claude-code</bdi> · 2 requests · <time'
        in page
    )
    assert '<a href="/sessions?project=pot"><bdi>pot</bdi> <small>1</small></a>' in page
    of_pot = browser.get("/sessions?project=pot").text
    assert "What is a pot?" in of_pot
    assert "What is a kettle?" not in of_pot


def test_a_session_reads_from_beginning_to_end_with_its_summary(site: Site) -> None:
    for number in range(25):
        site.app.sessions.add(
            AGENT, "a/b c?", f"prompt **{number}**", f"thought {number}", f"answer {number}"
        )
    (summary,) = site.app.summaries.summarize(OWNER, "a/b c?")
    browser = site.owner()
    page = browser.followed_link(browser.get("/sessions").text, "/session?")
    assert summary.title in page.replace("&#39;", "'")
    assert "prompt <strong>0</strong>" in page
    assert "<summary>Thought</summary>" in page
    assert "answer 19" in page
    assert "answer 20" not in page
    assert "answer 24" in browser.get("/session?name=a%2Fb+c%3F&from=20").text


def test_a_search_inside_a_session_finds_there_alone(site: Site) -> None:
    site.app.sessions.add(AGENT, "one", "How do we deploy?", "", "With make.")
    site.app.sessions.add(AGENT, "two", "How did we deploy?", "", "By hand.")
    page = site.owner().get("/session?name=one&q=deploy").text
    assert "With make." in page
    assert "<mark>deploy</mark>" in page
    assert "By hand." not in page


def test_sessions_of_others_do_not_show(site: Site) -> None:
    other = Caller(name="x", role=Role.HUMAN, organization="other")
    site.app.sessions.add(other, "secret", "p", "t", "r")
    browser = site.bearer(organization="default")
    assert "secret" not in browser.get("/sessions").text
    assert browser.get("/session?name=secret").status_code == 404
    assert browser.get("/session?name=").status_code == 404
    assert browser.get("/sessions?from=x").status_code == 400
