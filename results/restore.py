"""restore.py DATASET_FOLDER PARQUET_FOLDER: write scores.parquet of unpacked folds and compare it with the digest in spec.json."""
import sys
from pathlib import Path
import gradrank
gradrank.pin()
import polars as pl
from gradrank.base.files import sha256
from gradrank.base.results import FoldFolder
from gradrank.data.stored import StoredCollection
from gradrank.training.trained_fold import TrainedFold
folder, data = map(Path, sys.argv[1:3])
stored = StoredCollection.open(data)
good = bad = 0
for spec_path in sorted(folder.rglob("spec.json")):
    if "model" in spec_path.parts: continue
    fold = FoldFolder(spec_path.parent)
    if fold.scores_path.exists(): continue
    trained = TrainedFold.load(fold.folder)
    splits = stored.fold(trained.spec["fold"])
    frames = []
    for split in ("train", "vali", "test"):
        c = stored.read(splits[split], None, stored.normaliser(trained.spec["fold"]))
        s = trained.model.score(c.features, c.offsets)
        frames.append(pl.DataFrame({"split": [split] * len(s), "score": s}))
    pl.concat(frames).write_parquet(fold.scores_path)
    same = sha256(fold.scores_path) == fold.spec()["files"]["scores.parquet"]
    good += same; bad += not same
    if not same: print("differs", fold.folder); fold.scores_path.unlink()
print(good, "restored,", bad, "differ")
