"""Test that tools/foreign_internals.py finds each kind of undocumented use, and accepts documented ones."""

import pytest

from foreign_internals import findings
from rule_files import to_python

PYTHON = {
    "changes another program": [
        "import torch\ntorch.manual_seed = None",
        "import lightgbm\nlightgbm.basic.limit += 1",
        "import mlflow\ndel mlflow.log_metric",
    ],
    "changes Python's import state": [
        "import sys\nsys.modules['pandas'] = None",
        "import sys\nsys.modules.update(pandas=None)",
        "import sys\nsys.meta_path.insert(0, object())",
    ],
    "private name": [
        "from numba.core.caching import _Cache",
        "import torch.utils._pytree",
        "import torch\ntorch._foreach_add_([], 1)",
    ],
    "not in the documentation": ["from snakemake.persistence.file import FilePersistence", "import dvc.repo"],
    "internal file of another program": ["open('.snakemake/metadata/x')", "folder = f'{1}/.dvc/tmp/rwlock'"],
}
RULES = {
    "changes another program": ["workflow.execute = None", "rule a:\n    run:\n        workflow.cores = 1"],
    "private name": ["workflow._rules"],
    "internal file of another program": ["rule a:\n    shell:\n        'rm .snakemake/incomplete'"],
}
DOCUMENTED = [
    "import os\nos.environ['NUMBA_CACHE_DIR'] = 'x'",
    "import numpy as np\nvalues = np.zeros(3)\nvalues[0] = 1\nvalues.shape = (3, 1)",
    "from collections import namedtuple\nnamedtuple('A', 'x')(1)._replace(x=2)",
    "class A:\n    def f(self):\n        self._x = 1",
    "from dvc.api import DVCFileSystem\nfrom mlflow.entities import Metric",
    "import os\nos._exit(1)",
    "import sys\nassert 'torch' not in sys.modules and sys.modules.get('numpy')",
    '"""It reads no `.snakemake/metadata` and no `refs/exps`."""',
]
DOCUMENTED_RULES = """
from snakemake.utils import min_version

min_version("9.5")
include: "rules/common.smk"
shell.prefix("set -e; ")

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

onerror: print("failed")
"""


def cases(table):
    return [(kind, source) for kind, sources in table.items() for source in sources]


@pytest.mark.parametrize(("table", "is_rule_file"), [(PYTHON, False), (RULES, True)])
def test_undocumented_uses_are_found(table, is_rule_file):
    for kind, source in cases(table):
        assert any(line and what.startswith(kind) for line, what in findings(source, is_rule_file)), source


def test_documented_uses_are_accepted():
    assert [found for source in DOCUMENTED for found in findings(source, is_rule_file=False)] == []
    assert findings(DOCUMENTED_RULES, is_rule_file=True) == []


def test_a_rule_file_keeps_its_lines():
    assert len(to_python(DOCUMENTED_RULES).splitlines()) == len(DOCUMENTED_RULES.splitlines())


def test_a_file_that_cannot_be_parsed_is_a_finding():
    assert findings("rule a:\n    input: (", is_rule_file=True)[0][0] == 0
