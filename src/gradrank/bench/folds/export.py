"""Export of the test rankings of all folds of a method."""

from pathlib import Path

from gradrank.base.own_folders import CONTENTS, check_own_folder, write_contents
from gradrank.bench.results import MethodFolder
from gradrank.data.stored import StoredCollection
from gradrank.export.rankings import KINDS, export_scores, export_trec
from gradrank.measures.judgements import read_judgements
from gradrank.measures.score_files import read_scores


def export_model(folder: Path | str, data: Path | str, out: Path | str) -> list[Path]:
    """Write the test rankings of a trained model to `out`/fold<k>.{run,qrels,scores}.txt, and return the paths.

    folder: the method's folder, which contains fold1, fold2 and so on. data: the stored collection. Raises
    GradrankError for missing or malformed scores, for ids that TREC files do not allow, and if `out` contains other
    files.
    """
    method, stored, out = MethodFolder(Path(folder)), StoredCollection.open(data), Path(out)
    check_own_folder(out / CONTENTS, [method.folder, stored.path])
    names = [f"fold{number}.{kind}.txt" for number in range(1, len(stored.folds) + 1) for kind in KINDS]
    write_contents(out, names)  # before the files, so that they are known as ours if the process is killed
    written = []
    for number, parts in enumerate(stored.folds, start=1):
        judgements = read_judgements(stored, parts["test"])
        scores = read_scores(method.fold(number).scores_path, judgements)
        run, qrels, score_file = (out / f"fold{number}.{kind}.txt" for kind in KINDS)
        export_trec(scores, judgements, run, qrels, tag=method.name)
        export_scores(scores, score_file)
        written += [run, qrels, score_file]
    return written
