"""The choices of the contest, made again from the trials, for the script that does not import gradrank."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

import polars as pl


def choice(trials: pl.DataFrame, fold: int, seconds: float) -> dict:
    """Return the choice of a tuner on a fold, made from its trials."""
    rows = trials.filter(fold=fold).sort("trial")
    trial, value = first_best(rows.select("trial", value="vali_ndcg@10"))
    in_time = rows.filter((pl.col("seconds").cum_sum() <= seconds) | (pl.col("trial") == 0)).drop_nulls("vali_ndcg@10")
    timed = first_best(in_time.select("trial", value="vali_ndcg@10"))[0] if len(in_time) else trial
    folds = trials["fold"].n_unique()
    means = trials.group_by("trial").agg(value=pl.col("vali_ndcg@10").mean(), count=pl.col("vali_ndcg@10").count())
    complete = means.filter(count=folds)
    one, _ = first_best(means if complete.is_empty() else complete)
    texts = dict(rows.select("trial", "params").iter_rows())
    return {
        "model": rows["model"][0],
        "tuner": rows["tuner"][0],
        "fold": fold,
        "trial": trial,
        "value": value,
        "one": one,
        "timed": timed,
        "configuration": json.loads(rows.filter(trial=trial)["configuration"][0]),
        "params": {number: json.loads(texts[number]) for number in {trial, one, timed, 0}},
    }


def first_best(rows: pl.DataFrame) -> tuple[int, float | None]:
    """Return the first trial with the highest value. A method that is not evaluated has a single trial."""
    rows = rows.sort("trial").drop_nulls("value") if rows["value"].null_count() < len(rows) else rows.sort("trial")
    best = rows["value"].max()
    return next((trial, value) for trial, value in rows.select("trial", "value").iter_rows() if value == best)


def wrong_choices(
    trials: Sequence[pl.DataFrame], values: Sequence[pl.DataFrame], entries: Mapping[int, dict], seconds: float
) -> Iterator[str]:
    """Yield one line per choice that differs from choices.json or from the digests in the test values.

    trials, values: the tables of each tuner. entries: the entry of choices.json for each fold.
    """
    made = [[choice(table, fold, seconds) for fold in entries] for table in trials]
    hashes = [[digest_of(own) for own in choices] for choices in made]
    for place, (fold, entry) in enumerate(entries.items()):
        for number, choices in enumerate(made, start=1):
            own = {name: choices[place][name] for name in ("trial", "one", "timed", "configuration")}
            if entry[f"tuner{number}"] != own:
                yield f"fold {fold}, tuner {number}: choices.json has {entry[f'tuner{number}']}, recomputed {own}"
        joined = hashlib.sha256("".join(own[place] for own in hashes).encode()).hexdigest()
        if entry["sha256"] != joined:
            yield f"fold {fold}: the digest in choices.json is not that of the choices"
    for number, (table, own) in enumerate(zip(values, hashes, strict=True), start=1):
        if [json.loads(text)["choices"] for text in table["made_with"].unique()] != [own]:
            yield f"tuner {number}: the test values were made with other choices"


def digest_of(made: dict) -> str:
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
