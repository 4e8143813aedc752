"""What is printed into a pipe or a file is UTF-8 where the system would have a code page decide."""

import io

from minutebook.__main__ import use_utf8


def test_a_pipe_takes_what_its_code_page_lacks() -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="cp1252", newline="")
    use_utf8(stream)
    stream.write("Überraschung → 東京\n")
    stream.flush()
    assert written.getvalue().decode("utf-8") == "Überraschung → 東京\n"


def test_a_terminal_and_what_is_no_stream_of_text_are_left_alone() -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    terminal = Terminal(io.BytesIO(), encoding="cp1252")
    use_utf8(terminal)
    assert terminal.encoding == "cp1252"
    use_utf8(io.StringIO())
