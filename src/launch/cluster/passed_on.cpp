#include "launch/cluster/passed_on.h"

#include <algorithm>
#include <cctype>

extern char** environ;

namespace tessera {
namespace {

bool is_shell_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_plain);
}

bool is_passed_on(const std::string& entry) {
  const auto begins = [&](const char* name) { return entry.starts_with(name); };
  if (begins("TESSERA_JOB_SECRET")) return false;  // it goes its own way
  return begins("TESSERA_") || begins("NCCL_") || begins("OMP_") || begins("GLOO_") || begins("CUDA_VISIBLE_DEVICES=") ||
         begins("PATH=") || begins("LD_LIBRARY_PATH=");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> passed_on_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || !is_passed_on(variable) || !is_shell_name(variable.substr(0, equals))) continue;
    found.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return found;
}

}  // namespace tessera
