"""Test that tools/foreign_internals.py finds each kind of undocumented use, and accepts documented ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from foreign_internals import findings
from rule_files import to_python

SCRIPT = Path(__file__).parents[2] / "tools/foreign_internals.py"

PYTHON = {
    "changes another program": {
        "assignment": "import torch\ntorch.manual_seed = None",
        "assignment to a class": "from numba import njit as compiled\ncompiled.cache = None",
        "assignment through another name": "import numpy as np\nfast = np.linalg\nfast.solve = None",
        "assignment in a loop": "import polars as pl\nfor each in pl.datatypes.classes:\n    each.width = 1",
        "assignment of two": "import torch\nwidth, torch.manual_seed = 1, None",
        "augmented assignment": "import lightgbm\nlightgbm.basic.limit += 1",
        "deletion": "import mlflow\ndel mlflow.log_metric",
        "item of a table": "import numba\nnumba.config.table['x'] = 1",
        "item of a dictionary of attributes": "import torch\nvars(torch).update(manual_seed=None)",
        "setattr": "import torch\nsetattr(torch.cuda, 'is_available', None)",
        "delattr": "import torch\ndelattr(torch, 'compile')",
        "object.__setattr__": "import torch\nobject.__setattr__(torch.cuda, 'is_available', None)",
        "assignment to an imported module": "from importlib import import_module\nimport_module('torch').compile = 1",
        "assignment to a module of sys.modules": "import sys\nsys.modules['torch'].compile = None",
        "assignment to what getattr returns": "import torch\ngetattr(torch, 'cuda').is_available = None",
        "Snakemake's object as a parameter": "def plan(workflow):\n    workflow.dag_settings.targets = set()",
        "monkeypatch.setattr": "import torch\ndef test(monkeypatch):\n    monkeypatch.setattr(torch.cuda, 'f', 1)",
        "monkeypatch.setattr with text": "def test(monkeypatch):\n    monkeypatch.setattr('torch.cuda.f', 1)",
        "monkeypatch.setattr through our module": (
            "from gradrank.training import device\ndef test(patch):\n    patch.setattr(device.torch.cuda, 'f', 1)"
        ),
        "monkeypatch.setitem": "import numba\ndef test(patch):\n    patch.setitem(numba.table, 'x', 1)",
        "mock.patch": "from unittest import mock\nwith mock.patch('mlflow.log_metric'):\n    pass",
        "mock.patch.object": "from unittest import mock\nimport dvc.api\nmock.patch.object(dvc.api, 'open').start()",
        "code in a string": "run('-c', 'import torch; torch.compile = None')",
        "code in a template": "CODE = '''\nimport torch\ntorch.compile = {value!r}\n'''",
    },
    "changes Python's import state": {
        "entry of sys.modules": "import sys\nsys.modules['pandas'] = None",
        "entries of sys.modules": "import sys\nsys.modules.update(pandas=None)",
        "entry of sys.modules under another name": "from sys import modules as loaded\nloaded.pop('pandas')",
        "entry of sys.modules in a test": "import sys\ndef test(patch):\n    patch.delitem(sys.modules, 'x')",
        "sys.meta_path": "import sys\nsys.meta_path.insert(0, object())",
        "sys.path_hooks": "import sys\nsys.path_hooks += [print]",
        "sys.executable": "import sys\nsys.executable = 'python'",
    },
    "private name": {
        "private import": "from numba.core.caching import _Cache",
        "import of a private module": "import torch.utils._pytree",
        "import of the standard library's private module": "import _signal",
        "private attribute": "import torch\ntorch._foreach_add_([], 1)",
        "private attribute of an instance": "from snakemake_interface_common import Rule\nRule()._name",
        "private name as text": "import torch\ngetattr(torch, '_foreach_add_')",
        "private name as text of an unknown object": "def call(what):\n    return getattr(what, '_hidden')()",
        "private name of an attrgetter": "from operator import attrgetter\nattrgetter('_hidden')",
        "private module as text": "from importlib import import_module\nimport_module('numpy._core')",
        "private module of __import__": "__import__('_polars_runtime_32')",
    },
    "not in the documentation": {
        "module that Snakemake does not document": "from snakemake.persistence.file import FilePersistence",
        "module that DVC does not document": "import dvc.repo",
        "module that MLflow does not document": "from mlflow.store.artifact import local_artifact_repo",
    },
    "internal file of another program": {
        "records of Snakemake": "open('.snakemake/metadata/x')",
        "unfinished outputs of Snakemake": "from pathlib import Path\nPath('a') / '.snakemake' / 'incomplete'",
        "locks of Snakemake": "from pathlib import Path\nPath('.snakemake', 'locks')",
        "temporary files of DVC": "folder = f'{1}/.dvc/tmp/rwlock'",
        "cache of DVC": "open('.dvc/cache/files/md5')",
        "experiments of DVC": "call('git', 'for-each-ref', 'refs/exps')",
        "runs of MLflow": "open('mlruns/0/meta.yaml')",
        "artifacts of MLflow": "open('mlartifacts/1')",
        "cache of Numba": "from pathlib import Path\nlist(Path().glob('*.nbi'))",
    },
}
RULES = {
    "changes another program": {
        "assignment": "workflow.execute = None",
        "assignment in a rule": "rule a:\n    output:\n        'x'\n    run:\n        workflow.cores = 1",
        "assignment in a handler": "onstart:\n    workflow.scheduler.job_rate_limiter = None",
        "assignment to a rule": "for each in list(workflow.rules):\n    each.conda_env = None",
        "assignment to the shell": "shell.executable = None",
        "rule file in a string": "TEXT = '''\nrule a:\n    shell: 'x'\n\nworkflow.execute = None\n'''",
    },
    "not in the documentation": {
        "read of an undocumented attribute": "if workflow.is_main_process:\n    include: 'a.smk'",
        "read in a lambda": "rule a:\n    input:\n        lambda wc: workflow.configfiles,\n    shell:\n        'x'",
        "internals of a rule": "print(rules.report.rule.name)",
        "undocumented module": "from snakemake.logging import logger",
    },
    "passes on the object": {"object passed on": "from gradrank.x import fork\nfork(workflow)"},
    "private name": {"private attribute of an unknown object": "job = find()\njob._format()"},
    "internal file of another program": {
        "records in a shell command": "rule a:\n    shell:\n        '''\n        rm .snakemake/incomplete\n        '''"
    },
}
DOCUMENTED = {
    "environment": "import os\nos.environ['NUMBA_CACHE_DIR'] = 'x'",
    "standard library made to fail": "import shutil\ndef test(patch):\n    patch.setattr(shutil, 'move', 1)",
    "our module in a test": "from gradrank.data import letor\ndef test(patch):\n    patch.setattr(letor, 'CHUNK', 1)",
    "library through our module": (
        "from gradrank.data import letor\ndef test(patch):\n    patch.setattr(letor.time, 'f', 1)"
    ),
    "array": "import numpy as np\nvalues = np.zeros(3)\nvalues[0] = 1\nvalues.shape = (3, 1)",
    "named tuple": "from collections import namedtuple\nnamedtuple('A', 'x')(1)._replace(x=2)",
    "own private attribute": "class A:\n    def f(self):\n        self._x = getattr(self, '_y')",
    "functions of DVC and MLflow": "from dvc.api import DVCFileSystem\nfrom mlflow.entities import Metric",
    "ended process": "import os\nos._exit(1)",
    "lookup in sys.modules": "import sys\nassert 'torch' not in sys.modules",
    "log of Snakemake": "open('.snakemake/log/x')",
    "docstring": '"""It reads no `.snakemake/metadata` and no `refs/exps`."""',
}
DOCUMENTED_RULES = """
from snakemake.utils import min_version

min_version("9.5")
include: "rules/common.smk"
shell.prefix("set -e; ")

wildcard_constraints:
    dataset="|".join(NAMES),  # of the parameters

rule all:
    default_target: True
    input: rules.report.output, lambda wc: expand("{x}", x=[1])
    localrule: True

rule report:
    input:
        text=lambda wc: {"a": workflow.source_path("../report.rst")}["a"],
    output:
        html=report("x.html", caption="x.rst"),
    threads: workflow.cores * 0.5
    shell:
        "gradrank report "  # as the others
        ">{output}"

use rule report as second with:
    output:
        "y"

use rule * from other as other_*

module other:
    snakefile: "other/Snakefile"

for name in NAMES:

    rule:
        name: name
        input: getattr(rules, name).output

onstart:
    print("begun")

onerror: print("failed")
"""


def cases(table):
    return [pytest.param(kind, source, id=name) for kind, named in table.items() for name, source in named.items()]


@pytest.mark.parametrize(("kind", "source"), cases(PYTHON))
def test_undocumented_use_in_python_is_found(kind, source):
    assert any(what.startswith(kind) for _, what in findings(source, is_rule_file=False))


@pytest.mark.parametrize(("kind", "source"), cases(RULES))
def test_undocumented_use_in_a_rule_file_is_found(kind, source):
    assert any(line and what.startswith(kind) for line, what in findings(source, is_rule_file=True))


@pytest.mark.parametrize("source", DOCUMENTED.values(), ids=DOCUMENTED)
def test_documented_use_in_python_is_accepted(source):
    assert findings(source, is_rule_file=False) == []


def test_documented_use_in_a_rule_file_is_accepted():
    assert findings(DOCUMENTED_RULES, is_rule_file=True) == []


def test_a_rule_file_keeps_its_lines():
    lines = to_python(DOCUMENTED_RULES).splitlines()
    assert len(lines) == len(DOCUMENTED_RULES.splitlines())
    assert findings(DOCUMENTED_RULES + "shell.x = 1\n", is_rule_file=True)[0][0] == len(lines) + 1


def test_a_file_that_cannot_be_parsed_is_a_finding():
    assert findings("rule a:\n    input: (", is_rule_file=True)[0][0] == 0


def test_the_command_exits_with_1_and_names_the_place(tmp_path):
    def run(source: str) -> subprocess.CompletedProcess:
        (tmp_path / "Snakefile").write_text(source)
        return subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)

    assert run("min_version('9.5')\n").returncode == 0
    failed = run("\nworkflow.execute = None\n")
    assert failed.returncode == 1 and "Snakefile:2: " in failed.stdout
