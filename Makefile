# `make` builds the command at build/layline; `make help` lists the rest.
JOBS ?= $(shell nproc)
GRAPHS ?= 20000
FUZZ_SECONDS ?= 3600
SEED ?= $(shell date +%s)
COUNT ?= 40
MINUTES ?= 60

# cmake, ninja, lit and filecheck of .venv come before the system's.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.DEFAULT_GOAL := build
.PHONY: clang toulbar2 build demo test test-tosa test-python test-report web wheel tosa-venv test-arm test-versions test-onnx onnx-venv onnx-exports bench-onnx fuzz fuzz-graphs asan smoke same-programs coverage mutants certificates debug bench bench-llm docs micro-bench zoo survey zoo-check format lint clean setup help

build: setup build/build.ninja ## compile layline: build/layline
	cmake --build build -j $(JOBS)

demo: setup build/build.ninja ## compile a small model, run it on ExecuTorch, compare with torch
	cmake --build build -j $(JOBS) --target layline
	scripts/demo

test: build toulbar2 tosa-venv onnx-venv ## every test
	ctest --preset release -j $(JOBS)

test-tosa: build tosa-venv ## every fixture for TOSA, in Arm's reference model, and in Vela for NPUs
	scripts/tosa-check --all
	scripts/vela-check

test-python: build ## the Python package's tests; those with torch: PYTHON=an interpreter that has it
	scripts/python-test $(if $(PYTHON),--python $(PYTHON))

web: ## bundle the page of --report FILE.html (needs npm)
	cd web && npm ci --no-audit --no-fund && npm run build

test-report: build ## open reports in headless Chromium
	scripts/setup chromium
	scripts/report-test

wheel: ## a wheel of the Python package, in build/
	python3 -m pip wheel --no-deps -w build .

test-arm: build ## every fixture (or FIXTURES="NAME...") on ExecuTorch for Arm, under qemu
	@scripts/setup g++-aarch64-linux-gnu qemu-user-static
	scripts/test-arm $(FIXTURES)

test-versions: build ## every fixture in executorch 1.4.1 and 1.5.1, through their Python modules
	scripts/test-versions $(FIXTURES)

test-onnx: build ## ONNX's own conformance tests on the ExecuTorch runtime; trained models against ONNX Runtime; examples/onnx against the packages' own answers
	scripts/test-onnx
	scripts/onnx-models
	@scripts/setup libopencv-imgproc-dev libstb-dev
	scripts/onnx-jobs

onnx-exports: build ## what torch.onnx exports of 21 networks, by both exporters, beside torch
	scripts/onnx-exports

bench-onnx: build ## trained ONNX models of packages beside ONNX Runtime, into docs/benchmarks.md
	scripts/onnx-models --bench --write

fuzz: clang build-asan/build.ninja ## the fuzz targets (or TARGETS="NAME...") for FUZZ_SECONDS=3600
	cmake --build build-asan -j $(JOBS) --target fuzz_targets
	FUZZ_SECONDS=$(FUZZ_SECONDS) JOBS=$(JOBS) scripts/fuzz $(TARGETS)

fuzz-graphs: build ## GRAPHS=20000 random graphs from SEED=... through the compiler and the runtime
	LAYLINE_SEED=$(SEED) LAYLINE_GRAPHS=$(GRAPHS) build/tests/layline_e2e_tests \
	  --gtest_filter='Random*Graphs.*'

asan: clang toulbar2 tosa-venv onnx-venv build-asan/build.ninja ## every test again, under address and undefined-behaviour sanitizers
	cmake --build build-asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

smoke: clang toulbar2 build-asan/build.ninja ## the unit tests under the sanitizers, and a minute of fuzzing
	cmake --build build-asan -j $(JOBS) --target layline_unit_tests fuzz_targets
	LAYLINE_GRAPHS=20 ctest --preset asan -j $(JOBS) -L unit
	JOBS=$(JOBS) scripts/fuzz --smoke

same-programs: build clang build-asan/build.ninja ## the optimised and the sanitized build must write the same bytes
	cmake --build build-asan -j $(JOBS) --target layline
	scripts/same-programs build/layline build-asan/layline

coverage: toulbar2 tosa-venv onnx-venv build-coverage/build.ninja ## which lines of src/ the tests reach: build-coverage/html, docs/testing.md
	@scripts/setup lcov
	scripts/coverage --jobs $(JOBS)

mutants: build toulbar2 tosa-venv onnx-venv ## plant COUNT=40 faults by SEED= in each folder of the compiler, list those that no test notices; within MINUTES=60
	@scripts/setup clang-16 libclang-rt-16-dev python3-clang-16
	scripts/mutants --seed $(SEED) --count $(COUNT) --minutes $(MINUTES) --jobs $(JOBS) $(MUTANTS)

certificates: build ## rewrite tests/golden/certificates.txt: what is proved of every fixture
	LAYLINE_WRITE_CERTIFICATES=1 build/tests/layline_unit_tests --gtest_filter=Certificates.AreWhatTheyWere

debug: setup build-debug/build.ninja ## an unoptimised build with debug information, in build-debug
	cmake --build build-debug -j $(JOBS)

bench: setup build/build.ninja ## layline, ExecuTorch, ONNX Runtime, OpenVINO, LiteRT and MNN on the zoo (or MODELS="NAME..."), into docs/benchmarks.md
	cmake --build build -j $(JOBS) --target layline
	scripts/bench $(MODELS)
	scripts/bench-peers $(if $(MODELS),--models $(MODELS))

bench-llm: setup build/build.ninja ## language models beside ExecuTorch's own path and llama.cpp (LLM="--models NAME --lengths 2048"), into docs/benchmarks.md
	cmake --build build -j $(JOBS) --target layline read_bandwidth
	scripts/bench-llm $(LLM)

docs: build ## rewrite docs/ops.md, docs/cli.md and the manual page from the compiler
	build/op_table > docs/ops.md
	scripts/cli-reference build/layline --write

micro-bench: build ## build and run the micro-benchmarks
	cmake --build build -j $(JOBS) --target benchmarks
	scripts/micro-bench

zoo: ## export the model zoo with torch, into zoo/
	scripts/zoo

survey: build ## networks that nobody chose, tiny: every architecture of transformers, every module of timm (or NAMES="NAME..."): what is proved of them
	scripts/survey $(NAMES)

zoo-check: build ## compile and run the zoo (or MODELS="NAME..."), compare with torch and expectations.py
	scripts/zoo-check $(MODELS)

format: ## rewrite every source file in the house style
	scripts/setup clang-format
	scripts/sources | xargs clang-format -i

lint: ## check the style, then look for bugs with clang-tidy
	scripts/setup clang-format clang-tidy
	scripts/sources | xargs clang-format --dry-run --Werror
	$(MAKE) build
	scripts/sources src '*.cc' | xargs -P $(JOBS) -n 1 clang-tidy --quiet -p build

clean: ## remove every build, but not .venv
	rm -rf build build-asan build-coverage build-debug

onnx-venv: ## install ONNX and its tests into .venv-onnx
	@scripts/onnx-venv >/dev/null

tosa-venv: ## install Arm's TOSA tools, which tests use, into .venv-tosa
	@scripts/tosa-venv >/dev/null

# The compiler of the sanitized build: it comes with libFuzzer.
clang: setup
	@scripts/setup clang-16 libclang-rt-16-dev

# The solver that judges placement in the tests.
toulbar2: setup
	@scripts/setup toulbar2

setup: ## install what the build needs (the other targets do this first)
	@scripts/setup

help: ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

# Configured once; from then on the build itself notices changes of the CMake files.
build/build.ninja: | setup
	cmake --preset release
build-%/build.ninja: | setup
	cmake --preset $*
