#pragma once
#include <string>
#include <vector>

#include "study/space/parameter.h"
#include "study/trial.h"

namespace tessera {

// What a study varies. Made by read_space or parse_vary, which check it; parameters of conditions come before those they
// switch.
class Space {
 public:
  Space() = default;
  explicit Space(std::vector<Parameter> parameters);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Parameter& at(const std::string& name) const;    // throws UsageError with the nearest name
  const Parameter* find(const std::string& name) const;  // null where there is none
  bool is_active(const Parameter& parameter, const Assignment& assignment) const;

  // The config's overrides, "key=value" each, as `tessera train CONFIG key=value ...` takes them; fragments first.
  std::vector<std::string> overrides(const Assignment& assignment) const;

  // The assignment without parameters that are not in use, and with the values the space can have. Throws UsageError where one
  // that is in use has no value.
  Assignment cleaned(const Assignment& assignment) const;

  // "optimizer.lr=0.001 model.name=unet" for people.
  std::string text(const Assignment& assignment) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace tessera
