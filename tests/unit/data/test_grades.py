"""Relevance grades."""

from gradrank.data import grades
from gradrank.data.text import scan


def test_text_and_tables_have_the_same_highest_grade():
    assert scan.HIGHEST_GRADE == grades.HIGHEST_GRADE
