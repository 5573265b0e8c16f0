#pragma once
#include <string>
#include <vector>

#include "apps/command.h"

namespace tessera {

// `tessera recipe auto` and recipe=auto: Note [Automatic recipe].

bool asks_for_auto(const std::vector<std::string>& words);

// What the data and the device ask for, as a config with a reason for each value; and the experiment that it makes of the
// arguments, whose own values it leaves alone.
struct AutoConfig {
  std::string text;
  Experiment experiment;
};

// Looks at some samples, times a few steps and throws the model away: seconds, for most data. minutes: that training may take.
// Throws UsageError where it is not clear what the data are.
AutoConfig make_auto_config(const ConfigArguments& arguments, double minutes);

// The experiment of a command line with recipe=auto. A run that is resumed keeps what was chosen for it.
Experiment load_auto(const ConfigArguments& arguments, bool resume);

}  // namespace tessera
