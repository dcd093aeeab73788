"""The form of a record (provenance.json), which is checked before its values are used: anyone can write a record."""

from collections.abc import Mapping
from typing import Any

from gradrank.base.stamps import fault_of_name
from gradrank.bench.provenance.study_records import VALUES

# The texts that each entry of a method has, in the record of a data set and in the record of a study.
DATASET_ENTRY, STUDY_ENTRY = ("digest", "model", "results", "values"), ("digest", "model")


def fault_of_record(record: Mapping[str, Any], is_study: bool) -> str | None:
    """Return what is wrong with the form of a record, as text for messages; None if its values can be used.

    Names of data sets and methods must be plain names, because they are parts of paths.
    """
    methods, entry_keys = ("models", STUDY_ENTRY) if is_study else ("methods", DATASET_ENTRY)
    texts = ("code", "versions", "read" if is_study else "data")
    if fault := next((key for key in ("params", *texts, methods) if not isinstance(record.get(key), dict)), None):
        return f"`{fault}` is not a mapping"
    if fault := next((key for key in texts if not all(isinstance(text, str) for text in record[key].values())), None):
        return f"`{fault}` has a value that is not text"
    processors = record.get("processors")
    if not isinstance(processors, list) or not all(isinstance(processor, str) for processor in processors):
        return "`processors` is not a list of texts"
    for key, keys in ((methods, entry_keys), ("members", ("digest", "model"))):
        entries = record.get(key, {})
        if not isinstance(entries, dict):
            return f"`{key}` is not a mapping"
        for name, entry in entries.items():
            if fault_of_name(name) or "/" in name:
                return f"`{key}` contains {ascii(name)[:200]}, which is not the name of a method"
            if not isinstance(entry, dict) or not all(isinstance(entry.get(text), str) for text in keys):
                return f"`{key}.{name}` lacks one of {', '.join(keys)}"
            if not isinstance(entry.get("params", {}), dict) or not isinstance(entry.get("train", ""), str):
                return f"`{key}.{name}` has `params` or `train` of another type"
    if is_study:
        if not isinstance(record.get("jobs"), str):
            return "`jobs` is not text"
        for key in record["read"]:
            if fault_of_name(key) or key.count("/") != (2 if key.startswith(f"{VALUES}/") else 1):
                return f"`read` contains {ascii(key)[:200]}, which is not <data set>/<method>"
    return None
