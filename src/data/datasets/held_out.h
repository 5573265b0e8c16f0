#pragma once
#include <span>
#include <string>
#include <vector>

#include "config/data_config.h"

namespace tessera {

// Which of `pool` (positions in `names`) data.val_share holds out for val, a flag per name: those that draw the smallest
// numbers, each a function of split_seed and the name. So the order of the file system has no part in it, and when files come
// or go, hardly any other changes sides: a model is not measured on what an earlier one was trained on. A share between 0 and 1
// leaves at least one sample on each side.
std::vector<bool> draw_held_out(const DataConfig& config, std::span<const size_t> pool, std::span<const std::string> names);

// "held out: 96 of 480 by name, data.val_share=0.2"
std::string held_out_text(const DataConfig& config, size_t held_out, size_t pool);

}  // namespace tessera
