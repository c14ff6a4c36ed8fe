"""words: the short way for ASCII gives what the long way gives."""

from hypothesis import given
from hypothesis import strategies as st

from router.words import words


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_text_is_cut_like_any_other_text(text: str) -> None:
    assert (*words(text), "\u00e9") == words(f"{text} \u00e9")


def test_names_are_cut_at_marks_humps_and_digits() -> None:
    assert words("readFile") == words("read_file") == words("Read-File") == ("read", "file")
    assert words("parseHTMLPage2") == ("parse", "html", "page", "2")
    assert words("\u691c\u7d22\u3059\u308b") == (
        "\u691c\u7d22",
        "\u7d22\u3059",
        "\u3059\u308b",
    )
