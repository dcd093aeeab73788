# Every target builds the environment first if it is missing.
PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
READY := .venv/.ready

.PHONY: reproduce run test test-system lint format bench readme lock versions
# DVC's cache takes what has the bytes that dvc.lock names; without --force nothing else.
reproduce: run
	@.venv/bin/dvc commit --quiet dvc.yaml </dev/null 2>/dev/null || \
		echo "Not all of it is what dvc.lock names: .venv/bin/dvc status dvc.yaml says what is not."
	@echo "The report: $(CURDIR)/results/report.html"

run: $(READY)
	.venv/bin/snakemake --cores $(CORES)

test: $(READY)
	.venv/bin/pytest -n auto --dist loadfile

# Slurm, emulated processors, a browser, DVC, MLflow's server, and campaigns of random faults; what is not installed is
# skipped with the reason.
test-system: $(READY)
	.venv/bin/pytest -n auto --dist loadfile tests/system

lint: $(READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	PATH="$(CURDIR)/.venv/bin:$$PATH" snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint
	.venv/bin/lint-imports
	.venv/bin/deptry .
	.venv/bin/python tools/foreign_internals.py
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

format: $(READY)
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	PATH="$(CURDIR)/.venv/bin:$$PATH" snakefmt Snakefile workflow

# The benchmarks measure on MQ2007: GRADRANK_MIRROR says where its archive is.
bench: $(READY)
	.venv/bin/snakemake --cores $(CORES) mq2007
	for script in benchmarks/*.py; do .venv/bin/python "$$script" || exit 1; done

# dvc.lock of the code as it is: after every change of code or parameters, committed with what changed in results/.
versions: run
	.venv/bin/dvc commit --force dvc.yaml

readme: $(READY)
	.venv/bin/python -m gradrank.report.tables.readme

# requirements.lock from pyproject.toml alone: a fresh environment holds what it names, each file with its hash.
lock:
	rm -rf .venv/lock && $(PYTHON) -m venv .venv/lock
	.venv/lock/bin/pip install --quiet --editable '.[dvc,slurm,test]' uv
	.venv/lock/bin/pip freeze --exclude gradrank | sed 's/+cpu$$//' > .venv/lock/names
	.venv/lock/bin/uv pip compile --quiet .venv/lock/names --no-deps --generate-hashes --no-annotate --no-header \
		--output-file .venv/lock/hashed
	.venv/lock/bin/pip download --quiet --no-deps --dest .venv/lock/torch "$$(grep ^torch== .venv/lock/names)"
	(sed -n '/^#/p' requirements.lock; \
		sed "/^torch==/a\    $$(.venv/lock/bin/pip hash .venv/lock/torch/*.whl | tail -n 1) \\\\" .venv/lock/hashed) > requirements.tmp
	mv requirements.tmp requirements.lock && rm -rf .venv/lock

# Arguments of `pip install`, for uv, which takes a quarter of the time. It reads none of pip's settings (mirrors,
# certificates): where it finds no way, pip does. Its cache goes with the installation, whose files it links.
INSTALL := sh -c '.venv/bin/uv pip install --quiet --python .venv --cache-dir .venv/uv "$$@" || \
	.venv/bin/pip install --quiet --no-compile "$$@"' --

# torch by itself: with hashes to check both prefer files whose index names them, and a folder that holds the small
# CPU build (--find-links) names none; its hash is compared with the lock's here. Bytecode by all processors afterwards,
# but of tests; templates in some packages are no Python, and do not compile.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("gradrank needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.txt
	.venv/bin/pip install --quiet --require-hashes --no-deps --requirement .venv/uv.txt
	.venv/bin/pip download --quiet --no-deps --dest .venv/torch "$$(grep -o '^torch==[0-9.]*' requirements.lock)"
	grep -qF -e "$$(.venv/bin/pip hash .venv/torch/*.whl | tail -n 1)" requirements.lock || \
		{ echo ".venv/torch: none of the files of torch that requirements.lock names"; exit 1; }
	$(INSTALL) --no-deps .venv/torch/*.whl
	$(INSTALL) --require-hashes --no-deps --requirement requirements.lock
	$(INSTALL) --editable .
	rm -rf .venv/torch .venv/uv .venv/uv.txt
	.venv/bin/python -m compileall -qq -j 0 -x '/tests?/' .venv/lib src || true
	touch $@
