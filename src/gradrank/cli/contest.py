"""The commands by which settings are chosen fairly: each stage of a contest, and `tune` by hand on any data."""

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from gradrank.evaluation.conventions import CONVENTIONS

commands = typer.Typer()

CONTEST = Path("results/studies/contest")
Model = Annotated[str, typer.Option(help="A name of `gradrank models`.")]
Data = Annotated[Path, typer.Option(help="Stored collection, as in data/parquet/mq2007.")]
Pairs = Annotated[Path | None, typer.Option(help="Folder of the pairs; enumerated if not given.")]
Seed = Annotated[int, typer.Option(help="The run's seed; every draw and every training job has its own.")]
Seeds = Annotated[int, typer.Option(min=1, help="How often each choice is trained anew.")]
Fold = Annotated[int, typer.Option(min=1)]
Root = Annotated[Path, typer.Option(help="The contest's folder, or that of its reduced form.")]
Convention = Annotated[str, typer.Option(help=f"Metric convention: {', '.join(CONVENTIONS)}.")]


@commands.command()
def tune(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write: the trials and their models.")],
    seed: Seed,
    fold: Fold = 1,
    trials: Annotated[int, typer.Option(min=1, help="Configurations a tuner, the default's included.")] = 16,
    tuners: Annotated[int, typer.Option(min=1, help="Independent draws of so many.")] = 1,
    among: Annotated[
        str, typer.Option(help="Tuned methods that a fusion may be made of, as in 'ranksvm,xendcg'.")
    ] = "",
    pairs: Pairs = None,
) -> None:
    """Try random configurations of a model on one fold, each judged on the fold's own validation part alone.

    Killed at any time, the same command goes on with the trial that was running. The test part is not read.
    """
    one_thread()
    from gradrank.tuning.folders import TunedFold
    from gradrank.tuning.selection import best_trials
    from gradrank.tuning.trials import Plan
    from gradrank.tuning.trials import tune as run

    own = tuple(name for name in among.split(",") if name)
    plan = Plan(trials, tuners, own)
    tried = run(model, data, fold, plan, seed, TunedFold(out), pairs, _code("tune", model))
    for each in best_trials(tried):
        typer.echo(f"tuner {each.tuner}: trial {each.trial}, validation NDCG@10 {each.value:.4f}; to train it:")
        job = f"--model {model} --data {data} --fold {fold} --seed {seed}"
        typer.echo(f"  gradrank train {job} --params {shlex.quote(json.dumps(each.configuration))} --out FOLDER")


@commands.command()
def select(folders: Annotated[list[Path], typer.Argument(help="What `gradrank tune` has written for a fold.")]) -> None:
    """Freeze each tuner's choice, the highest validation NDCG@10: FOLDER/choice.json with its hash."""
    from gradrank.tuning.folders import TunedFold
    from gradrank.tuning.selection import select as run

    for folder in folders:
        typer.echo(f"{folder}: {run(TunedFold(folder)).sha256}")


@commands.command()
def freeze(
    folder: Annotated[Path, typer.Argument(help="A fold of a collection on which nothing was tried.")],
    sources: Annotated[list[Path], typer.Argument(help="Every fold of the collection that was tuned.")],
) -> None:
    """Take over the one configuration that was best on all folds of another collection: FOLDER/choice.json."""
    from gradrank.tuning.folders import TunedFold
    from gradrank.tuning.freeze import freeze as run

    typer.echo(f"{folder}: {run(TunedFold(folder), map(TunedFold, sources)).sha256}")


@commands.command()
def choices(
    datasets: Annotated[str, typer.Option(help="As in 'mq2007,ohsumed'.")],
    methods: Annotated[str, typer.Option(help="As in 'ranksvm,lambdamart'.")],
    contest: Root = CONTEST,
) -> None:
    """Gather all choices in CONTEST/choices.json, which is for git: before it no trial is scored on a test part."""
    from gradrank.tuning.choices import write_choices as run
    from gradrank.tuning.folders import Contest

    typer.echo(run(Contest(contest), datasets.split(","), methods.split(",")))


@commands.command()
def refit(
    folder: Annotated[Path, typer.Argument(help="A fold whose choice is frozen.")],
    data: Data,
    seed: Seed,
    fold: Fold = 1,
    seeds: Seeds = 3,
    pairs: Pairs = None,
    contest: Root = CONTEST,
) -> None:
    """Train each tuner's choice anew with several seeds: CONTEST/runs/tuner<t>/seed<s>/."""
    one_thread()
    from gradrank.tuning.folders import Contest, TunedFold
    from gradrank.tuning.refits import refit as run
    from gradrank.tuning.selection import read_choice

    own = TunedFold(folder)
    run(Contest(contest), own, fold, data, seeds, seed, pairs, _code("refit", read_choice(own).model))


@commands.command()
def evaluate_refits(
    method: Annotated[str, typer.Argument(help="A method of the contest.")],
    data: Data,
    seeds: Seeds = 3,
    convention: Convention = "letor4",
    contest: Root = CONTEST,
) -> None:
    """Open the test part for a method's frozen choices: their runs' values a query."""
    from gradrank.tuning.evaluate_refits import evaluate_refits as run
    from gradrank.tuning.folders import Contest

    run(Contest(contest), method, data, seeds, convention)


@commands.command()
def score_trials(
    method: Annotated[str, typer.Argument(help="A method of the contest.")],
    data: Data,
    convention: Convention = "letor4",
    contest: Root = CONTEST,
) -> None:
    """Score every trial's model on the test part, once all choices are frozen: what a budget would have been worth."""
    one_thread()
    from gradrank.tuning.folders import Contest
    from gradrank.tuning.score_trials import score_trials as run

    run(Contest(contest), method, data, convention)


def _code(stage: str, model: str) -> str:
    """What unfinished work must have been made with to be taken up again."""
    from gradrank.base.processor import form
    from gradrank.config.code_digest import code_digest
    from gradrank.training.registry import get_model
    from gradrank.tuning.spaces import tuning_modules

    return f"{code_digest(stage, *tuning_modules(get_model(model)))} {form()}"


def one_thread() -> None:
    """Polars, too, has one thread in a job unless the environment says otherwise: `--cores` parallelises over jobs."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
