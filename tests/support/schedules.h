#pragma once
#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/optim_config.h"

namespace tessera::testing {

// A schedule of tests/interop/make_torch_optim.py.
inline ScheduleConfig schedule_config(const nlohmann::json& values) {
  ScheduleConfig config;
  const auto& names = EnumNames<ScheduleType>::names;
  config.type =
      static_cast<ScheduleType>(std::find(names.begin(), names.end(), values.at("type").get<std::string>()) - names.begin());
  config.power = values.value("power", config.power);
  config.final_lr = values.value("final_lr", config.final_lr);
  config.gamma = values.value("gamma", config.gamma);
  config.warmup = Duration::parse(values.value("warmup", std::string("0ba")));
  config.warmup_start = values.value("warmup_start", config.warmup_start);
  config.pct_start = values.value("pct_start", config.pct_start);
  config.div = values.value("div", config.div);
  config.final_div = values.value("final_div", config.final_div);
  config.min_momentum = values.value("min_momentum", config.min_momentum);
  config.max_momentum = values.value("max_momentum", config.max_momentum);
  for (const auto& text : values.value("milestones", std::vector<std::string>()))
    config.milestones.push_back(Duration::parse(text));
  return config;
}

}  // namespace tessera::testing
