#pragma once
#include <string>
#include <vector>

#include "apps/command.h"

namespace tessera {

// A config and what was typed beside it. Without a config a folder is looked at as the one it would be trained with has it.
struct AskedData {
  std::string config;
  std::vector<std::string> overrides;
  Experiment experiment;
  bool names_given = false;  // data.classes was typed
  bool own_config = false;   // a config was named, so its classes are the user's too

  explicit AskedData(const ConfigArguments& arguments);

  // A name for the run of these files, where neither the user nor the config has one.
  std::string run_name() const;

 private:
  void take_coco();
  void take_records();
};

}  // namespace tessera
