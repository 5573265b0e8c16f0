#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera {

// What a training's folder tells besides its log (Note [Run log]).

// What it runs on, from its environment.json; empty where it has not got so far.
struct RunMachine {
  std::string device = {};   // "cpu", or the GPU's name
  std::string machine = {};  // processor or GPU, for people
  std::string commit = {};
};
RunMachine run_machine(const std::filesystem::path& run);

// Whether what a training said when it failed means that it could not write: the disk is full, or may not be written to. That
// is nothing that the training can be blamed for.
bool lacks_place(const std::string& said);

// The step of the newest complete checkpoint; -1: none.
int64_t newest_step(const std::filesystem::path& run);

}  // namespace tessera
