#pragma once
#include <filesystem>
#include <string>

#include "config/experiment.h"
#include "core/image.h"

namespace tessera {

// A Python module of plain PyTorch that defines the U-Net of `experiment` and loads the .pth of its weights, in our own names,
// that lies beside it: for who wants to use a trained U-Net without Tessera. title: what the model is, for its first line.
std::string python_unet(const Experiment& experiment, const ClassTable& classes, const std::string& title);

// Where that module goes: the name of the .pth with .py. Throws UsageError where a file is there that we have not written.
std::filesystem::path python_module_beside(const std::filesystem::path& weights);

}  // namespace tessera
