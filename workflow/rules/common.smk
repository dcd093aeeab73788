# What every stage shares: the checked parameters, the code a stage depends on, which data sets a call is about.
import gc
import json
import os
import shlex
import sys
import warnings
from functools import cache
from itertools import chain
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Snakemake has imported NumPy, but this process computes nothing: every command sets its own instruction set.
warnings.filterwarnings("ignore", "numpy imported before gradrank", RuntimeWarning)

from gradrank import __version__
from gradrank.pipeline.params import check
from gradrank.data.catalogue import catalogue
from gradrank.data.layout import find_layout
from gradrank.errors import GradrankError
from gradrank.learning.model import get_model
from gradrank.pipeline.damage import remember
from gradrank.pipeline.disk import check_space
from gradrank.pipeline.code_closure import code, digest, stage_files
from gradrank.pipeline.gaps import forget_damaged, gaps
from gradrank.pipeline.folder_lock import clear_partials, clear_stale_locks
from gradrank.pipeline.mending import Mending, before_execution
from gradrank.results import Results
from gradrank.pipeline.targets import answer_unknown_targets
from gradrank.pipeline.provenance import code_files
from gradrank.pipeline.study_provenance import study_code_files

# Of ten thousand jobs Snakemake keeps millions of objects for good: searching them for garbage took a quarter of the
# planning. What has been planned is set aside when the run starts; as a module this may never be told of that.
if workflow.modifier.is_main_snakefile():
    gc.disable()

# An environment that Snakemake deploys installs this release.
os.environ.update(GRADRANK_RELEASE=__version__)

# Rules call `gradrank`; it lies beside the Python that runs Snakemake, activated or not.
shell.prefix(f"PATH={shlex.quote(str(Path(sys.prefix, 'bin')))}:$PATH; ")
# Snakemake writes its interpreter into a cluster job's script as it stands: a folder's name may hold a space.
interpreter = sys.executable
sys.executable = shlex.quote(interpreter)

if workflow.modifier.path_modifier.prefix or workflow.modifier.path_modifier.modifies_prefixes:
    raise WorkflowError(
        "module of gradrank: takes no `prefix:` or `replace_prefix:`, since its commands know data/ and results/ by these "
        "names; take the line out, and give the module's workflow a folder of its own: `snakemake --directory FOLDER`"
    )

try:
    params = check(config)
except GradrankError as error:
    raise WorkflowError(str(error)) from None

holds_folder = workflow.is_main_process and clear_stale_locks()
if holds_folder:
    for line in forget_damaged(Results()):
        print(line, file=sys.stderr)


answer_unknown_targets(lambda: (rule.name for rule in workflow.rules if not rule.has_wildcards()))


def say_if_full():
    try:
        check_space()
    except GradrankError as error:
        raise WorkflowError(str(error)) from None


# A job that found the disk full may have had no room for its log either.
onerror:
    say_if_full()
    remember()


# Not at a dry run, and before any job starts.
onstart:
    gc.freeze()
    gc.enable()
    # Snakemake's default limit, 100 jobs a second, wakes the scheduler a second after each of its rounds: so every
    # finished job adds a round a second until the end, hundreds at last, each over all waiting jobs.
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    say_if_full()
    if holds_folder:
        clear_partials()


def begin_again():
    """The same call, in the same process."""
    sys.stdout.flush()
    os.execv(interpreter, sys.orig_argv)


MODELS = params.model_names()  # of the run; a study's are params.study_models(name)
IMPORTED = [name for name in params.models if params.imported(name)]  # nothing trains these
DATASETS = params.dataset_names()
# What describes a data set's parts, and its pairs, stands for their files.
STORED = ["data/parquet/{dataset}/collection.json", "data/pairs/{dataset}/pairs.json"]
STUDIES = [name for name in params.studies if "/" not in name]  # their reduced forms are no targets


METHOD = r"[\w.@+=-]+"  # not the names: Snakemake would search thousands of them for every file of a job
FOLD = r"\d+(/seed\d+)?"  # of what is trained, a further seed's lies inside the fold
TRAINED = f"(?!(?:{'|'.join(IMPORTED)})/){METHOD}" if IMPORTED else METHOD


wildcard_constraints:
    dataset="|".join(DATASETS),
    model=METHOD,
    fold=r"\d+",


def targets():
    """What this call was asked for."""
    return mending.asked if mending.files else set(workflow.dag_settings.targets)


def asked(names):
    """Those of these data sets or studies that this call names as targets; in another workflow's module they may be
    called otherwise."""
    return [name for name in names if getattr(rules, name).rule.name in targets()]


def requested():
    """The data sets this call is about: those named as targets; none for a study; else the run's."""
    return asked(DATASETS) or ([] if asked(STUDIES) else list(params.run.datasets))


def own_path(dataset):
    """The folder or file of a user's data set, else None."""
    return getattr(params.datasets.get(dataset), "path", None)


@cache
def folds(dataset):
    """Fold numbers: the catalogue's count, or what a user's folder shows."""
    if own_path(dataset):
        return range(1, 1 + len(find_layout(own_path(dataset)).folds))
    return range(1, 1 + catalogue()[dataset].folds)


def as_json(value):
    return json.dumps(value, sort_keys=True)


def size_options(dataset):
    """An artificial data set's size. One text: of two numbers Snakemake would not see that they changed places."""
    size = params.datasets[dataset]
    return f"--queries {size.queries} --documents {size.documents}"


def text_of(wildcards):
    """A user's files themselves, or the manifest that says the data set is there whole."""
    path = own_path(wildcards.dataset)
    return find_layout(path).files if path else f"data/raw/{wildcards.dataset}/fetched.json"


# Snakemake asks each function anew for every one of thousands of jobs, twice: the fewer and the shorter the better.
@cache
def needs_of_model(model):
    """Whether a model needs the pairs file, and the models whose scores it is made of."""
    return params.model(model).needs_pairs, params.members(model)


def needs_of(wildcards):
    """What a model declares that it needs: the pairs file, other models' scores of the same fold and seed."""
    needs_pairs, members = needs_of_model(wildcards.model)
    pairs = [f"data/pairs/{wildcards.dataset}/pairs.json"] if needs_pairs else []
    number, seed = fold_and_seed(wildcards.fold)
    own = [(member, seed if seed in seeds_of(member) else params.seeds[0]) for member in members]
    return pairs + [
        f"results/{wildcards.dataset}/{member}/{place(number, seed)}/scores.parquet" for member, seed in own
    ]


seeds_of = cache(params.seeds_of)


@cache
def place(fold, seed):
    """The folder of a fold: of a further seed one inside that of the first."""
    return f"fold{fold}" if seed == params.seeds[0] else f"fold{fold}/seed{seed}"


@cache
def fold_and_seed(behind):
    """What `place` was made of, from what follows `fold` in it: "1", "1/seed2"."""
    number, _, further = behind.partition("/")
    return int(number), int(further.removeprefix("seed") or params.seeds[0])


def group_of_seed(wildcards):
    """One job on a cluster where there are several seeds: the folds of one of them, or the evaluation of all."""
    name = f"{wildcards.dataset}.{wildcards.model}"
    if len(seeds_of(wildcards.model)) == 1:
        return name
    trains = "fold" in wildcards.keys()
    return f"{name}.seed{fold_and_seed(wildcards.fold)[1]}" if trains else f"{name}.evaluation"


# Of a model: its folds and their evaluation, one submission instead of six.
GROUP = "{dataset}.{model}" if len(params.seeds) == 1 else group_of_seed


@cache
def training_options(model, dataset):
    """How a training job is called, but for its data, fold and seed."""
    needs_pairs, members = needs_of_model(model)
    pairs = f" --pairs data/pairs/{dataset}" if needs_pairs else ""
    return f"{model_options(model)}{pairs}{f' --members results/{dataset}' if members else ''}"


def scores_from(model):
    """The pattern of the score files of a method from elsewhere."""
    return params.models[model].params["scores"]


@cache
def training_code(model):
    return code("train", params.model(model).__module__)


def scores_of(wildcards):
    """The scores of every fold and seed of a rule's data set and model."""
    return [
        f"results/{wildcards.dataset}/{wildcards.model}/{place(fold, seed)}/scores.parquet"
        for seed in seeds_of(wildcards.model)
        for fold in folds(wildcards.dataset)
    ]


@cache
def further_seeds(model):
    """An option, where there are some."""
    further = ",".join(map(str, seeds_of(model)[1:]))
    return f"--further-seeds {further}" if further else ""


@cache
def model_options(name):
    """A model's registered name and the values in force, as options."""
    variant = params.models[name]
    return f"--model {variant.model} --params {shlex.quote(as_json(variant.params))}"


def registered(name):
    return params.models[name].model


@cache
def study_files(study):
    """The files that a study depends on, by stage."""
    names = map(registered, params.study_models(study))
    return study_code_files(study, names, params.study_settings(study))


def recording_code(stage, made_of):
    """The code of a stage that records what results were made of, and all code that made them."""
    return digest(chain(stage_files(stage), *made_of.values()))


def recorded(datasets, studies):
    """Their records, which are made last; and what these are about and is gone."""
    made_of = {dataset: set(MODELS) for dataset in datasets}
    for settings in map(params.study_settings, studies):
        for dataset in settings.get("datasets", ()):
            made_of.setdefault(dataset, set()).update(settings["models"])
    gone = chain.from_iterable(gone_of(dataset, names) for dataset, names in made_of.items())
    return [*records(datasets, studies), *gone]


def gone_of(dataset, names):
    """What methods once had on a data set and have no more."""
    return gaps(Results(), dataset, {name: seeds_of(name) for name in names}, folds(dataset))


def gone_below(files):
    """The same of files that are asked for by their paths: a data set's, of all its methods, or a method's."""
    for path in map(Path, files):
        root, dataset, *own = (*path.parts, "")
        if root == "results" and dataset in DATASETS and len(own) in (2, 3):
            yield from gone_of(dataset, MODELS if len(own) == 2 else {own[0]} & set(MODELS))


def records(datasets, studies):
    """provenance.json of these data sets and studies."""
    return expand("results/{dataset}/provenance.json", dataset=datasets) + expand(
        "results/studies/{study}/provenance.json", study=studies
    )


def parse_options(dataset):
    """How the text or the tables of a data set are to be read, as far as they need not show it themselves."""
    if own_path(dataset):
        options = params.datasets[dataset].parse_options()
    else:  # the width of sparse rows
        options = {"features": catalogue()[dataset].features if catalogue()[dataset].sparse else None}
    given = [
        (name, each)
        for name, value in options.items()
        for each in (value if isinstance(value, tuple) else [value])
        if each is not None
    ]
    return " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in given)


def given_pairs(wildcards):
    """The file with a user's own pairs, if there is one."""
    path = getattr(params.datasets.get(wildcards.dataset), "pairs", None)
    return [] if path is None else path


def pairs_options(dataset):
    """Whose the pairs of a data set are: a user's, or those of the grades."""
    path = getattr(params.datasets.get(dataset), "pairs", None)
    return f"--ties {params.pairs.ties}" if path is None else f"--given {shlex.quote(str(path))}"


def requested_studies():
    """The studies this call is about: those named as targets; of plain `snakemake` the reduced ones."""
    return asked(STUDIES) or ([] if asked(DATASETS) else sorted(set(params.studies) - set(STUDIES)))


@cache
def jobs_of(study):
    return params.study_jobs(study)


def data_of_job(wildcards):
    """The collection that a study's job reads, if it is told one."""
    told = jobs_of(wildcards.study)[wildcards.job]
    return [f"data/parquet/{told['dataset']}/collection.json"] if "dataset" in told else []


def code_of_job(wildcards):
    """The code of a study's jobs, and of the model that this one trains."""
    told = jobs_of(wildcards.study)[wildcards.job]
    trained = [get_model(told["model"]).__module__] if "model" in told else []
    return code("study_job", module_of(wildcards.study, "experiments"), *trained)


def measured_for(wildcards):
    settings = params.study_settings(wildcards.study)
    return expand(
        "results/{dataset}/{model}/per_query.parquet", dataset=settings["datasets"], model=settings["models"]
    )


def module_of(study, part):
    return f"gradrank.studies.{study.partition('/')[0]}.{part}"


def concerned():
    """The data sets and studies that this call reads or makes."""
    studies = requested_studies()
    read = (params.study_settings(study).get("datasets", ()) for study in studies)
    return {*requested(), *(study.partition("/")[0] for study in studies), *chain.from_iterable(read)}


mending = Mending()


def before_planning():
    """What planning would find wrong with a user's data is one message here, and there a traceback."""
    try:
        for name in filter(own_path, concerned()):
            folds(name)
    except GradrankError as error:
        raise WorkflowError(str(error)) from None
    if holds_folder:
        mending.begin(workflow, concerned())
    if not mending.files:
        workflow.dag_settings.targets = targets().union(gone_below(targets()))


if workflow.is_main_process:
    before_execution(workflow, before_planning)
