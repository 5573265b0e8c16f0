# Two commands: `make demo` and `make test`. Each installs what it needs, builds, and runs; the second time it just runs.
BUILD ?= build
JOBS ?= $(shell env -u OMP_NUM_THREADS nproc)
# Ranks that wait for one another and faults that run into a time limit leave cores idle: half as many tests again as there are cores.
TEST_JOBS ?= $(shell echo $$(( ($(JOBS) * 3 + 1) / 2 )))
# Sources that are compiled at a time, at most. More of them make a build from nothing shorter, and one after an edit longer.
GROUP_SIZE ?= 8
TORCH := $(if $(TESSERA_TORCH),$(TESSERA_TORCH),$(CURDIR)/.deps/torch/torch)

.PHONY: demo test check each-source gpu test-gpu test-interop test-asan test-cluster build build-app configure setup bundle bench format docs clean help

demo: build-app ## train a small U-Net on synthetic cells and open-able report
	$(BUILD)/bin/tessera demo

test: build ## build everything and run all tests
	@$(MAKE) --no-print-directory check

check: ## run all tests of what is built
	@rm -f $(BUILD)/skipped.txt
	TESSERA_SKIPPED=$(abspath $(BUILD))/skipped.txt ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(TEST_JOBS) --output-junit tests.xml
	@scripts/skipped-tests $(BUILD)

gpu: configure ## the CUDA plug-in, also where there is no GPU; needs nvcc of CUDA 13
	@cmake -B $(BUILD) -DTESSERA_CUDA=ON
	@cmake --build $(BUILD) -j $(JOBS) --target tessera_plugin

test-gpu: build gpu ## the tests that need a GPU, and those of all kernels on it; fails where there is none
	TESSERA_REQUIRE_GPU=1 ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L gpu

test-interop: build ## make the fixtures afresh from the live Python libraries and compare
	scripts/test-interop $(BUILD)

test-asan: setup ## the code that reads files, under AddressSanitizer and UBSan
	cmake --preset asan -DTESSERA_TORCH=$(TORCH)
	cmake --build build-asan -j $(JOBS) --target asan_tests
	ctest --test-dir build-asan --output-on-failure -L files -j $(JOBS)

test-cluster: build-app ## ranks started by mpirun, a Slurm of one machine, two hosts made of network namespaces; studies on Slurm and over ssh; needs root
	@for name in mpirun slurm two_nodes slurm_studies slurm_accounts ssh_studies; do echo "== $$name"; python3 tests/cluster/$$name.py $(BUILD)/bin/tessera || exit 1; done

setup:
	@scripts/setup

# Configured once, and again when another libtorch is named.
configure: setup
	@test -f $(BUILD)/build.ninja -a "$$(cat $(BUILD)/torch.path 2>/dev/null)" = "$(TORCH)" || \
	  { cmake --preset default -B $(BUILD) -DTESSERA_TORCH=$(TORCH) -DTESSERA_GROUP_SIZE=$(GROUP_SIZE) && echo "$(TORCH)" > $(BUILD)/torch.path; }

build-app: configure
	@cmake --build $(BUILD) -j $(JOBS) --target tessera tessera_plugin

build: configure ## build everything
	@cmake --build $(BUILD) -j $(JOBS)

each-source: setup ## every source compiled by itself: finds an include that only stands because another source of the group has it
	cmake --preset default -B build-each -DTESSERA_TORCH=$(TORCH) -DTESSERA_GROUP_SOURCES=OFF
	cmake --build build-each -j $(JOBS)

bundle: build gpu ## a folder that runs on another machine with its own torch 2.11
	scripts/bundle $(BUILD)

bench: build ## CPU training step beside PyTorch
	scripts/bench-cpu $(BUILD)

docs: build-app ## pages made from the config schema and the models
	$(BUILD)/bin/tessera config reference > docs/config.md
	scripts/models-table $(BUILD)

format: ## clang-format in place
	git ls-files 'src/*.h' 'src/*.cpp' 'src/*.cu' 'tests/*.h' 'tests/*.cpp' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-asan build-each

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16
