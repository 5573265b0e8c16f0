#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/space/parameter.h"

namespace tessera {

// One parameter as it was written, in a file or on the command line: its kind, the values after it, and what else was said.
struct ParameterSpec {
  std::string name;
  std::string kind;                      // one of parameter_kinds()
  std::vector<std::string> values = {};  // as overrides write them: "0.1", "unet", "[16, 32]"
  std::optional<std::string> step = {}, points = {}, low = {}, high = {};
  std::string place = {};  // for messages: "study.yaml:12", "--vary"
};

// choice, grid, uniform, log, integer, log_integer, normal.
const std::vector<std::string>& parameter_kinds();

// Throws UsageError for what is no range or no list of values.
Parameter make_parameter(const ParameterSpec& spec);

// A choice of one value of the parameter's own key.
Choice choice_of(const std::string& name, const std::string& value);

}  // namespace tessera
