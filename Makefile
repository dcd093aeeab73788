# If the environment .venv is missing, every target except `lock` builds it first.
PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
READY := .venv/.ready

.PHONY: docs reproduce run test test-studies test-system lint review format bench readme lock versions
# Without --force, `dvc commit` adds only files to DVC's cache that match dvc.lock.
reproduce: run
	@.venv/bin/dvc commit --quiet dvc.yaml </dev/null 2>/dev/null || \
		echo "Some outputs differ from dvc.lock. To list them: .venv/bin/dvc status dvc.yaml"
	@echo "The report: $(CURDIR)/results/report.html"

run: $(READY)
	.venv/bin/snakemake --cores $(CORES)

test: $(READY)
	.venv/bin/pytest -n auto --dist loadfile

# The tests of each study, and its recomputed page (tests/studies).
test-studies: $(READY)
	.venv/bin/pytest -n auto --dist loadfile studies tests/studies

# Tests with Slurm, emulated processors, a browser, DVC, an MLflow server, random faults, installed packages and the
# commands of the documentation, and models trained on all folds of the real collections. A test is skipped, with the
# reason, if its program is not installed.
test-system: $(READY)
	.venv/bin/pytest -n auto --dist loadfile tests/system

# The documentation site in build/site, with executed notebooks. Only pip needs a network.
DOCS := .venv/.docs
docs: $(DOCS)
	.venv/bin/python tools/documentation/build.py

$(DOCS): $(READY) pyproject.toml
	$(INSTALL) --editable '.[docs]'
	touch $@

lint: $(READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	PATH="$(CURDIR)/.venv/bin:$$PATH" snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint
	.venv/bin/lint-imports
	.venv/bin/basedpyright
	.venv/bin/deptry .
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	.venv/bin/check-jsonschema --schemafile workflow/schemas/params.schema.json params.yaml

# A first sieve for a reviewer: sentences that are read twice, and undocumented names of other programs.
review: $(READY)
	-.venv/bin/python tools/prose.py
	-.venv/bin/python tools/foreign_internals.py

format: $(READY)
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	PATH="$(CURDIR)/.venv/bin:$$PATH" snakefmt Snakefile workflow

# After a clone, git gives all files arbitrary times. `make contest-parts` stores the data of the contest, and gives its
# finished parts, which Snakemake unpacks, one later time, so that Snakemake takes them as finished. `make
# factorial-parts` does the same for the study `factorial`.
%-parts: $(READY)
	.venv/bin/snakemake --cores $(CORES) $*_data
	find results/studies/$* $(wildcard logs) -name runs -prune -o -type f -exec touch -t "$$(date +%Y%m%d%H%M.%S)" {} +

# The benchmarks print their values. They use MQ2007. GRADRANK_MIRROR is the folder with its archive.
bench: $(READY)
	.venv/bin/snakemake --cores $(CORES) mq2007
	for script in $(filter-out %/measured.py %/performance_page.py,$(wildcard benchmarks/*.py)); do \
		.venv/bin/python "$$script" || exit 1; done

# Update dvc.lock. Run this after every change of code or parameters, and commit dvc.lock with the changes in results/.
versions: run
	.venv/bin/dvc commit --force dvc.yaml

readme: $(READY)
	.venv/bin/python -m gradrank.bench.report.readme

# Make requirements.lock from pyproject.toml in a fresh environment: exact versions, with the hash of each file. All
# packages are the newest that pyproject.toml allows, except torch, whose CPU build an index may not have.
# `make lock UPGRADE=polars` upgrades one package, and others only if the new version needs it.
TORCH := 2.13.0
lock:
	rm -rf .venv/lock && $(PYTHON) -m venv .venv/lock
	sed -n 's/ \\$$//; $(if $(UPGRADE),/^[a-z]/p)' requirements.lock > .venv/lock/pins
	.venv/lock/bin/pip install --quiet --editable '.[test]' torch==$(TORCH) uv --constraint .venv/lock/pins
	$(if $(UPGRADE),.venv/lock/bin/pip install --quiet --upgrade $(UPGRADE) && .venv/lock/bin/pip check)
	.venv/lock/bin/pip freeze --exclude gradrank | sed 's/+cpu$$//' > .venv/lock/names
	.venv/lock/bin/uv pip compile --quiet .venv/lock/names --no-deps --generate-hashes --no-annotate --no-header \
		--output-file .venv/lock/hashed
	.venv/lock/bin/pip download --quiet --no-deps --dest .venv/lock/torch "$$(grep ^torch== .venv/lock/names)"
	(sed -n '/^#/p' requirements.lock; \
		sed "/^torch==/a\    $$(.venv/lock/bin/pip hash .venv/lock/torch/*.whl | tail -n 1) \\\\" .venv/lock/hashed) > requirements.tmp
	mv requirements.tmp requirements.lock && rm -rf .venv/lock

# `pip install` with uv, which takes a quarter of the time. uv does not read pip's settings (mirrors, certificates), so
# pip is the fallback. uv links files from its cache, so the cache is inside .venv and is deleted after the installation.
INSTALL := sh -c '.venv/bin/uv pip install --quiet --python .venv --cache-dir .venv/uv "$$@" || \
	.venv/bin/pip install --quiet --no-compile "$$@"' --

# torch is downloaded separately: in hash-checking mode, pip and uv prefer files whose index lists hashes, and a folder
# with the small CPU build (--find-links) lists none. The recipe compares its hash with requirements.lock instead. The
# second installation of torch adds the packages that its build for CUDA needs. compileall compiles with all processors
# and skips tests; it fails on templates that are not Python, hence `|| true`.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("gradrank needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.txt
	.venv/bin/pip install --quiet --require-hashes --no-deps --requirement .venv/uv.txt
	.venv/bin/pip download --quiet --no-deps --dest .venv/torch "$$(grep -o '^torch==[0-9.]*' requirements.lock)"
	grep -qF -e "$$(.venv/bin/pip hash .venv/torch/*.whl | tail -n 1)" requirements.lock || \
		{ echo ".venv/torch: requirements.lock does not list this file of torch. Fix: check the index of pip"; exit 1; }
	$(INSTALL) --no-deps .venv/torch/*.whl
	$(INSTALL) --require-hashes --no-deps --requirement requirements.lock
	$(INSTALL) "$$(grep -o '^torch==[0-9.]*' requirements.lock)"
	$(INSTALL) --editable .
	rm -rf .venv/torch .venv/uv .venv/uv.txt
	.venv/bin/python -m compileall -qq -j 0 -x '/tests?/' .venv/lib src || true
	touch $@
