"""Notes: what is written can be kept in a file, whatever the texts hold."""

from minutebook.features.archives.notes.note_form import Target, link_lines


def test_half_a_character_in_a_link_becomes_a_question_mark() -> None:
    target = Target("memories/kettle", "the kettle \ud800")
    [line] = link_lines([("about\udfff", target)])
    assert line.encode().decode() == line
    assert (line.count("?"), "the kettle ?" in line) == (2, True)
