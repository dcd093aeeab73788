"""Citations in the texts of models and data sets resolve to BibTeX entries."""

import re

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.cli.citations import cite
from gradrank.data.sources.catalogue import catalogue
from gradrank.training.literature import missing, named, references
from gradrank.training.registry import models

WITHOUT = {"single_feature"}  # a baseline without a publication


@pytest.mark.parametrize("name", sorted(models()))
def test_every_model_cites_what_has_an_entry(name):
    text = models()[name].summary
    assert bool(named(text)) == (name not in WITHOUT)
    assert missing(text) == []


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_data_set_cites_what_has_an_entry(name):
    text = catalogue()[name].citation
    assert {each.authors[0] for each in named(text)} >= {text.replace(",", " ").split()[0]}
    assert len(named(text)) == len(text.split(";"))


def test_every_entry_is_cited_and_complete():
    texts = [*(cls.summary for cls in models().values()), *(entry.citation for entry in catalogue().values())]
    texts += [field.description or "" for cls in models().values() for field in cls.Params.model_fields.values()]
    cited = {each.key for text in texts for each in named(text)}
    assert set(references()) - cited == {"gradrank"}
    for key, each in references().items():
        assert each.fields.keys() >= ({"author", "title", "year"} if key != "gradrank" else {"author", "title"})
        assert key == "gradrank" or key == f"{each.authors[0].lower().replace('ü', 'ue')}{each.fields['year']}"
        assert each.bibtex.count("{") == each.bibtex.count("}")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("after Cao et al. 2007, by hand", {"cao2007"}),
        ("a net (Burges, Ragno & Le 2006; Burges 2010)", {"burges2006", "burges2010"}),
        ("Qin and Liu, Introducing LETOR 4.0 Datasets, arXiv:1306.2597", {"qin2013"}),
        ("boosted trees, LightGBM", {"ke2017"}),
        ("Xu & Li 2008", set()),
        ("Li & Xu 2007", {"li2007"}),  # by the first author and the year, as a reader would look it up
    ],
)
def test_a_text_names_what_it_cites(text, keys):
    assert {each.key for each in named(text)} == keys


def test_cite_takes_variants_members_and_own_data(tmp_path):
    (tmp_path / "params.yaml").write_text(
        f"seed: 1\nrun: {{datasets: [mine], models: [both]}}\nevaluation: {{metrics: [map]}}\n"
        f"datasets: {{mine: {{path: {tmp_path}}}, synthetic_net: {{queries: 5, documents: 5}}, "
        "synthetic_poly: {queries: 5, documents: 5}}\n"
        "models: {both: {model: fusion, models: [small, mart]}, small: {model: lambdamart, num_leaves: 7}}\n"
    )
    text = "\n".join(cite([], [], tmp_path / "params.yaml"))
    assert "% mine: no publication to cite (your own data)" in text
    assert set(re.findall(r"@\w+\{(\w+),", text)) == {
        *("gradrank", "burges2010", "friedman2001", "ke2017", "wolpert1992")
    }
    assert "% small, mart\n@inproceedings{ke2017," in text


def test_cite_needs_no_params_and_refuses_unknown_names(tmp_path):
    assert "xu2007" in "\n".join(cite(["adarank_map"], [], tmp_path / "none.yaml"))
    with pytest.raises(GradrankError, match="did you mean 'adarank_map'"):
        list(cite(["adarank_mapp"], [], tmp_path / "none.yaml"))
    with pytest.raises(GradrankError, match="did you mean 'mq2007'"):
        list(cite([], ["mq20007"], tmp_path / "none.yaml"))
