"""Stages of a contest as commands, and `tune`, which also runs by hand on any data."""

import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradrank.base.errors import GradrankError
from gradrank.bench.cli.options import Model, Pairs, Seed
from gradrank.cli.options import CONTEST, Convention, Data, example, use_one_thread
from gradrank.measures.conventions import DEFAULT

if TYPE_CHECKING:
    from gradrank.bench.tuning.choices import Choice

commands = typer.Typer()

FOLDER = Path("results/studies/contest")
Method = Annotated[str, typer.Argument(help="A method of the contest.")]
Tuner = Annotated[int, typer.Option(min=1, help="Number of the tuner. Each tuner draws its own configurations.")]
Seconds = Annotated[float, typer.Option(min=0, help="Processor time for the comparison at equal time, per fold.")]
Variant = Annotated[
    str | None, typer.Option(help="Model and fixed parameters as JSON, for a method that is not a registered model.")
]
ContestFolder = Annotated[Path, typer.Option(help="Folder of the contest, or of its reduced form.")]


@commands.command(
    rich_help_panel=CONTEST,
    epilog=example(
        "gradrank tune --model lambdamart --data data/parquet/mq2007 --seed 1 --trials 16 --out trials.parquet"
    ),
)
def tune(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write, with one row per fold and trial.")],
    seed: Seed,
    fold: Annotated[list[int] | None, typer.Option(help="Number of a fold; by default, all folds.", min=1)] = None,
    trials: Annotated[int, typer.Option(min=1, help="Number of configurations per fold, including the default.")] = 16,
    tuner: Tuner = 1,
    among: Annotated[str, typer.Option(help="Methods that a fusion combines, such as 'ranksvm,xendcg'.")] = "",
    pairs: Pairs = None,
    convention: Convention = DEFAULT,
    variant: Variant = None,
) -> None:
    """Try random configurations of a model on each fold, and evaluate them on the fold's own validation part.

    If this command is killed, repeat it to continue with the trial that was running. The test parts are not read. Equal
    scores are taken in expectation; under letor4, they keep the order of the file.
    """
    use_one_thread()
    from gradrank.base.conventions import LETOR4
    from gradrank.bench.tuning.choices import choose
    from gradrank.bench.tuning.trials import Plan
    from gradrank.bench.tuning.trials import tune as run
    from gradrank.bench.tuning.variants import warm_up
    from gradrank.measures.conventions import resolve

    modules, definition = _add_variant(model, variant), resolve(convention)
    ties = "equal scores in file order" if definition == LETOR4 else "equal scores in expectation"
    if variant:
        warm_up(model)
    plan = Plan(trials, tuner, tuple(name for name in among.split(",") if name))
    table = run(model, data, plan, seed, out, pairs, _code("tune", model, *modules), definition, fold)
    trained = json.loads(variant)["model"] if variant else model
    for choice in choose(table, math.inf):
        if choice.value is not None:
            typer.echo(
                f"fold {choice.fold}: trial {choice.trial}, validation NDCG@10 {choice.value:.4f} under {convention}, "
                f"{ties}. To train it, run:"
            )
            job = f"--model {trained} --data {data} --fold {choice.fold} --seed {seed} --convention {convention}"
            typer.echo(f"  gradrank train {job} --params {shlex.quote(json.dumps(choice.configuration))} --out FOLDER")


@commands.command(
    rich_help_panel=CONTEST, epilog=example("gradrank choices ranksvm:2 lambdamart:5 --datasets mq2007,ohsumed")
)
def choices(
    methods: Annotated[list[str], typer.Argument(help="Methods with their numbers of tuners, such as 'ranksvm:2'.")],
    datasets: Annotated[str, typer.Option(help="Data sets, such as 'mq2007,ohsumed'.")],
    seconds: Seconds = 20.0,
    contest: ContestFolder = FOLDER,
) -> None:
    """Collect all choices in CONTEST/choices.json, which is committed to git before a test part is scored.

    Prints the methods by their mean rank over the data sets, computed from validation parts and two tuners.
    """
    from gradrank.bench.tuning.choices import by_validation, write_choices
    from gradrank.bench.tuning.folders import Contest

    counts = {name: int(count) for name, _, count in (method.partition(":") for method in methods)}
    names, folder = datasets.split(","), Contest(contest)
    parts = [(dataset, name, t + 1) for dataset in names for name, count in counts.items() for t in range(count)]
    write_choices(folder, parts, seconds)
    for name, rank in by_validation(folder, names, counts, 2).items():
        typer.echo(f"{rank:.2f} {name}")


@commands.command(
    rich_help_panel=CONTEST,
    epilog=example("gradrank refit-choices ranksvm --data data/parquet/mq2007 --tuner 2 --seed 1"),
)
def refit_choices(
    method: Method,
    data: Data,
    seed: Seed,
    tuner: Tuner = 1,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds that each choice is trained with.")] = 3,
    seconds: Seconds = 20.0,
    pairs: Pairs = None,
    convention: Convention = DEFAULT,
    adopt_from: Annotated[str, typer.Option(help="Tuned data set, if nothing is tuned on the data.")] = "",
    only_choices: Annotated[
        bool, typer.Option("--only-choices", help="Train no other trials, and not on the validation part.")
    ] = False,
    fold: Annotated[list[int] | None, typer.Option(help="Number of a fold; by default, all folds.", min=1)] = None,
    variant: Variant = None,
    contest: ContestFolder = FOLDER,
) -> None:
    """Train the choices of one tuner with several new seeds, and evaluate them on the test parts, per query.

    A method that combines scores also needs the trained choices of its members in CONTEST/runs/. Missing ones are
    trained.
    """
    use_one_thread()
    from gradrank.bench.tuning.choice_values import CHOICE_VALUES, evaluate_choices
    from gradrank.bench.tuning.choices import member_choices, tuner_choices
    from gradrank.bench.tuning.folders import Contest, check_made_with
    from gradrank.bench.tuning.refits import Refits, train_members
    from gradrank.bench.tuning.refits import refit as run
    from gradrank.data.stored import StoredCollection
    from gradrank.measures.conventions import resolve

    definition, folder = resolve(convention), Contest(contest)
    check_made_with(folder.values_path(StoredCollection.open(data).name, method, tuner))
    modules = _add_variant(method, variant) + ((CHOICE_VALUES,) if only_choices else ())

    def settings(name: str) -> Refits:
        return Refits(data, seeds, seed, pairs, _code("refit", name, *modules), definition)

    chosen = _on_folds(fold, tuner_choices(folder, data, method, tuner, seconds, adopt_from))
    if only_choices:
        evaluate_choices(folder, method, tuner, chosen, settings(method))
        return
    members = member_choices(folder, data, chosen, seconds, adopt_from)
    members = {name: _on_folds(fold, choices) for name, choices in members.items()}
    train_members(folder, members, {name: settings(name) for name in members})
    run(folder, method, tuner, chosen, settings(method))


@commands.command(
    rich_help_panel=CONTEST, epilog=example("gradrank divisions ranksvm --data data/parquet/mq2007 --count 10 --seed 1")
)
def divisions(
    method: Method,
    data: Data,
    seed: Seed,
    count: Annotated[int, typer.Option(min=2, help="Number of divisions of the queries.")] = 10,
    seconds: Seconds = 20.0,
    pairs: Pairs = None,
    convention: Convention = DEFAULT,
    contest: ContestFolder = FOLDER,
) -> None:
    """Train one frozen configuration on other divisions of the queries, to measure the effect of the training queries.

    The configuration is the one that the first tuner would choose for all folds. A method that combines scores also
    needs those of its members in CONTEST/runs/divisions/. Missing ones are computed.
    """
    use_one_thread()
    from gradrank.bench.tuning.choices import member_choices, tuner_choices
    from gradrank.bench.tuning.divisions import DividedMethod, evaluate_divisions
    from gradrank.bench.tuning.folders import Contest, check_made_with
    from gradrank.measures.conventions import resolve

    definition, folder = resolve(convention), Contest(contest)
    check_made_with(folder.divisions_path(data.name, method))

    def divided(name: str, choice: "Choice", members: tuple[DividedMethod, ...] = ()) -> DividedMethod:
        params, code = choice.params[choice.one], _code("divisions", name)
        return DividedMethod(name, params, seed, code, pairs, definition, members)

    chosen = tuner_choices(folder, data, method, 1, seconds)
    of_members = member_choices(folder, data, chosen, seconds)
    members = tuple(divided(name, choices[0]) for name, choices in of_members.items())
    evaluate_divisions(folder, divided(method, chosen[0], members), data, count)


def _on_folds(folds: list[int] | None, choices: "list[Choice]") -> "list[Choice]":
    """Return the choices on the given folds; by default, all. Raises GradrankError for a fold without a choice."""
    known = [choice.fold for choice in choices]
    if wrong := sorted(set(folds or ()) - set(known)):
        raise GradrankError(f"--fold: no choice on fold {wrong[0]}. Fix: give one of {', '.join(map(str, known))}")
    return [choice for choice in choices if not folds or choice.fold in folds]


def _add_variant(method: str, variant: str | None) -> tuple[str, ...]:
    """Register the variant `method`, if there is one, and return the modules that define variants."""
    if variant is None:
        return ()
    from gradrank.bench.tuning.variants import add_variant, variant_modules

    add_variant(method, variant)
    return variant_modules(json.loads(variant))


def _code(stage: str, model: str, *further: str) -> str:
    """Return the code digest and the instruction set of this process.

    A killed command is continued only if its unfinished files have the same digest and instruction set. further: other
    modules that the command runs.
    """
    from gradrank.base.processor import form
    from gradrank.bench.config.code_digest import code_digest
    from gradrank.training.registry import get_model
    from gradrank.training.spaces import tuning_modules

    return f"{code_digest(stage, *tuning_modules(get_model(model)), *further)} {form()}"
