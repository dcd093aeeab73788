"""The tables of the models and of their parameters, which `gradrank models` prints."""

import pytest

from gradrank.base.errors import GradrankError
from gradrank.cli.listings import list_models, show_model
from gradrank.training.accepted_data import models_that_accept
from gradrank.training.literature import by_family
from gradrank.training.literature.model_tables import model_table
from gradrank.training.registry import models


def test_every_model_has_one_row_sorted_by_family_and_year():
    table = model_table()
    grouped = by_family(models().values())
    assert table["name"].to_list() == [cls.name for members in grouped.values() for cls, _ in members]
    assert table["family"].unique(maintain_order=True).to_list() == list(grouped)
    for row in table.iter_rows(named=True):
        cls = models()[row["name"]]
        assert row["summary"] == cls.summary and row["extra"] == cls.extra and row["package"] is None
        assert (row["needs_pairs"], row["takes_missing"]) == (cls.needs_pairs, cls.takes_missing)
        assert row["uses_weights"] == cls.uses_weights
        assert ("missing" in row["accepts"]) == cls.takes_missing
        assert ("weights" in row["accepts"]) == (cls.uses_weights is not None)
        assert row["randomised"] == cls.uses_seed(cls.Params())
        assert row["year"] is None or 1960 < row["year"] < 2030
        assert row["installed"] or cls.requires


@pytest.mark.parametrize("name", sorted(models()))
def test_every_parameter_has_one_row_with_a_default_and_a_source(name):
    table = model_table(name)
    assert table["parameter"].to_list() == list(models()[name].Params.model_fields)
    assert table.null_count().sum_horizontal().item() == 0 and all(table["source"]) and all(table["allowed"])


def test_the_allowed_values_are_those_that_the_parameters_accept():
    rows = {row["parameter"]: row for row in model_table("lambdamart").iter_rows(named=True)}
    assert rows["learning_rate"]["allowed"] == "number > 0" and float(rows["learning_rate"]["default"]) > 0
    rows = {row["parameter"]: row for row in model_table("softmax").iter_rows(named=True)}
    assert rows["scorer"]["allowed"] == "attention | dasalc | ft_transformer | linear | net | realmlp | tabm"


def test_the_command_lists_the_models_that_accept_the_named_data(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    list_models(True, ["missing", "weights"])
    printed = {line.split(" ")[0] for line in capsys.readouterr().out.splitlines()} & {*models()}
    assert printed == {name for name, cls in models().items() if cls.takes_missing and cls.uses_weights is not None}
    assert sorted(printed) == sorted(models_that_accept(["weights", "missing"]))


def test_an_unknown_property_of_data_is_named():
    with pytest.raises(GradrankError, match="did you mean 'missing'"):
        list_models(True, ["mising"])


def test_an_unknown_model_is_named():
    with pytest.raises(GradrankError, match="did you mean 'lambdamart'"):
        model_table("lambdamrt")


def test_the_command_prints_the_rows(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    list_models(True)
    printed = capsys.readouterr().out
    assert all(text in printed for column in ("name", "summary") for text in model_table()[column])
    show_model("ranksvm")
    printed = capsys.readouterr().out
    assert all(text in printed for text in model_table("ranksvm")["parameter"])
