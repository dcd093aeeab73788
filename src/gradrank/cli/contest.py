"""Stages of a contest as commands, and `tune`, which also runs by hand on any data."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from gradrank.cli.options import CONTEST, Convention, Data, Fold, Model, Pairs, Seed, example, use_one_thread

commands = typer.Typer()

FOLDER = Path("results/studies/contest")
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds that each selected configuration is trained with.")]
ContestFolder = Annotated[Path, typer.Option(help="Folder of the contest, or of its reduced form.")]


@commands.command(
    rich_help_panel=CONTEST,
    epilog=example(
        "gradrank tune --model lambdamart --data data/parquet/mq2007 --fold 1 --seed 1 --trials 16 --out tuned"
    ),
)
def tune(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write, with the trials and their models.")],
    seed: Seed,
    fold: Fold = 1,
    trials: Annotated[int, typer.Option(min=1, help="Number of configurations per tuner, including the default.")] = 16,
    tuners: Annotated[int, typer.Option(min=1, help="Number of tuners. Each draws its own configurations.")] = 1,
    among: Annotated[str, typer.Option(help="Tuned methods that a fusion may combine, such as 'ranksvm,xendcg'.")] = "",
    pairs: Pairs = None,
    convention: Convention = "letor4",
) -> None:
    """Try random configurations of a model on one fold, and evaluate each on the fold's own validation part.

    If this command is killed, repeat it to continue with the trial that was running. The test part is not read.
    """
    use_one_thread()
    from gradrank.evaluation.conventions import resolve
    from gradrank.tuning.folders import TunedFold
    from gradrank.tuning.selection import best_trials
    from gradrank.tuning.trials import Plan
    from gradrank.tuning.trials import tune as run

    methods = tuple(name for name in among.split(",") if name)
    plan = Plan(trials, tuners, methods)
    table = run(model, data, fold, plan, seed, TunedFold(out), pairs, _code("tune", model), resolve(convention))
    for choice in best_trials(table):
        typer.echo(
            f"tuner {choice.tuner}: trial {choice.trial}, validation NDCG@10 {choice.value:.4f} under {convention}. "
            "To train it, run:"
        )
        job = f"--model {model} --data {data} --fold {fold} --seed {seed} --convention {convention}"
        typer.echo(f"  gradrank train {job} --params {shlex.quote(json.dumps(choice.configuration))} --out FOLDER")


@commands.command(rich_help_panel=CONTEST, epilog=example("gradrank select tuned/fold1 tuned/fold2"))
def select(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `gradrank tune` wrote, one per fold.")],
) -> None:
    """Freeze the choice of each tuner: the configuration with the highest validation NDCG@10.

    Writes FOLDER/choice.json with its hash.
    """
    from gradrank.tuning.folders import TunedFold
    from gradrank.tuning.selection import select as run

    for folder in folders:
        typer.echo(f"{folder}: {run(TunedFold(folder)).sha256}")


@commands.command(rich_help_panel=CONTEST, epilog=example("gradrank freeze ohsumed/fold1 mq2007/fold1 mq2007/fold2"))
def freeze(
    folder: Annotated[Path, typer.Argument(help="Folder of a fold on which no configuration was tried.")],
    sources: Annotated[list[Path], typer.Argument(help="Folders of all tuned folds of another collection.")],
) -> None:
    """Adopt the configuration that was best over all folds of another collection, and write FOLDER/choice.json."""
    from gradrank.tuning.folders import TunedFold
    from gradrank.tuning.freeze import freeze as run

    typer.echo(f"{folder}: {run(TunedFold(folder), map(TunedFold, sources)).sha256}")


@commands.command(
    rich_help_panel=CONTEST, epilog=example("gradrank choices --datasets mq2007,ohsumed --methods ranksvm,lambdamart")
)
def choices(
    datasets: Annotated[str, typer.Option(help="Data sets, such as 'mq2007,ohsumed'.")],
    methods: Annotated[str, typer.Option(help="Methods, such as 'ranksvm,lambdamart'.")],
    contest: ContestFolder = FOLDER,
) -> None:
    """Collect all choices in CONTEST/choices.json, which is committed to git.

    No trial is scored on a test part before this file is complete.
    """
    from gradrank.tuning.choices import write_choices as run
    from gradrank.tuning.folders import Contest

    typer.echo(run(Contest(contest), datasets.split(","), methods.split(",")))


@commands.command(
    rich_help_panel=CONTEST, epilog=example("gradrank refit tuned/fold1 --data data/parquet/mq2007 --seed 1")
)
def refit(
    folder: Annotated[Path, typer.Argument(help="Folder of a fold whose choice is frozen.")],
    data: Data,
    seed: Seed,
    fold: Fold = 1,
    seeds: Seeds = 3,
    pairs: Pairs = None,
    convention: Convention = "letor4",
    contest: ContestFolder = FOLDER,
) -> None:
    """Train the choice of each tuner with several new seeds, in CONTEST/runs/tuner<t>/seed<s>/."""
    use_one_thread()
    from gradrank.evaluation.conventions import resolve
    from gradrank.tuning.folders import Contest, TunedFold
    from gradrank.tuning.refits import refit as run
    from gradrank.tuning.selection import read_choice

    tuned = TunedFold(folder)
    code = _code("refit", read_choice(tuned).model)
    run(Contest(contest), tuned, fold, data, seeds, seed, pairs, code, resolve(convention))


@commands.command(
    rich_help_panel=CONTEST, epilog=example("gradrank evaluate-refits ranksvm --data data/parquet/mq2007")
)
def evaluate_refits(
    method: Annotated[str, typer.Argument(help="A method of the contest.")],
    data: Data,
    seeds: Seeds = 3,
    convention: Convention = "letor4",
    contest: ContestFolder = FOLDER,
) -> None:
    """Evaluate the refits of a method's frozen choices on the test part, per query."""
    from gradrank.tuning.evaluate_refits import evaluate_refits as run
    from gradrank.tuning.folders import Contest

    run(Contest(contest), method, data, seeds, convention)


@commands.command(rich_help_panel=CONTEST, epilog=example("gradrank score-trials ranksvm --data data/parquet/mq2007"))
def score_trials(
    method: Annotated[str, typer.Argument(help="A method of the contest.")],
    data: Data,
    convention: Convention = "letor4",
    contest: ContestFolder = FOLDER,
) -> None:
    """Score the model of every trial on the test part, after all choices are frozen.

    The values show what other budgets would have been worth.
    """
    use_one_thread()
    from gradrank.tuning.folders import Contest
    from gradrank.tuning.score_trials import score_trials as run

    run(Contest(contest), method, data, convention)


def _code(stage: str, model: str) -> str:
    """Return the code digest and the instruction set of this process.

    A killed command is continued only if its unfinished files have the same digest and instruction set.
    """
    from gradrank.base.processor import form
    from gradrank.config.code_digest import code_digest
    from gradrank.training.registry import get_model
    from gradrank.tuning.spaces import tuning_modules

    return f"{code_digest(stage, *tuning_modules(get_model(model)))} {form()}"
