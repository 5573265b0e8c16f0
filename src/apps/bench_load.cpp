// `tessera bench load FILE`: how long weights take from a file into a model's tensors, beside reading the same file.
#include <ATen/ops/ones.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/error.h"
#include "core/json_text.h"
#include "infer/environment.h"
#include "weights/formats/load_weights.h"
#include "weights/maps/match.h"

namespace tessera {
namespace {

struct LoadArguments {
  std::string file;
  int64_t rounds = 9;
  bool cold = false;
};

constexpr size_t kPiece = 8 << 20;

// Sends the file out of the system's cache: its pages are clean and nobody maps them, so this works without privileges.
void forget(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ::fdatasync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

// What any program that reads the file does: read() into memory of its own.
void read_plainly(const std::string& path, uint8_t* buffer, size_t size) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::read(file, buffer + done, std::min(kPiece, size - done));
    TSR_CHECK(got > 0, "cannot read {} to its end", path);
    done += static_cast<size_t>(got);
  }
  ::close(file);
}

void bench_load(const LoadArguments& arguments) {
  const size_t size = std::filesystem::file_size(arguments.file);
  NamedTensors model;
  for (const auto& [name, tensor] : find_state_dict(read_weights(arguments.file)).tensors) {
    model.emplace_back(name, at::ones(tensor.sizes(), tensor.options()));  // there and touched, as a model's are
  }
  const auto used = std::make_unique_for_overwrite<uint8_t[]>(size);
  read_plainly(arguments.file, used.get(), size);
  std::vector<double> fresh_ms, used_ms, load_ms;
  const auto timed = [&](std::vector<double>& into, const auto& action) {
    if (arguments.cold) forget(arguments.file);
    const auto begin = std::chrono::steady_clock::now();
    action();
    into.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  };
  for (int64_t round = 0; round < arguments.rounds; ++round) {
    timed(fresh_ms, [&] {
      const auto buffer = std::make_unique_for_overwrite<uint8_t[]>(size);
      read_plainly(arguments.file, buffer.get(), size);
    });
    timed(used_ms, [&] { read_plainly(arguments.file, used.get(), size); });
    timed(load_ms, [&] { match_weights(model, find_state_dict(read_weights(arguments.file)).tensors, {}, arguments.file); });
  }
  fmt::print("{}\n", json_text({{"bytes", size},
                                {"read_ms", fresh_ms},
                                {"read_into_used_memory_ms", used_ms},
                                {"load_ms", load_ms},
                                {"environment", describe_environment()}},
                               2));
}

}  // namespace

void add_bench_load(CLI::App& bench) {
  auto arguments = std::make_shared<LoadArguments>();
  CLI::App* load = bench.add_subcommand("load", "time of loading a weight file, beside reading it, in turns, as JSON");
  load->add_option("file", arguments->file, "weight file")->required()->check(CLI::ExistingFile);
  load->add_option("--rounds", arguments->rounds, "of each")->capture_default_str()->check(above_zero());
  load->add_flag("--cold", arguments->cold, "send the file out of the system's cache before each");
  load->callback([arguments] { bench_load(*arguments); });
}

}  // namespace tessera
