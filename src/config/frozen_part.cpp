#include "config/frozen_part.h"

#include <sstream>
#include <vector>

#include "core/error.h"

namespace tessera {

bool FrozenPart::at(int64_t step, int64_t steps_per_epoch, int64_t total) const {
  return (!from || step >= from->steps(steps_per_epoch, total)) && (!until || step < until->steps(steps_per_epoch, total));
}

FrozenPart parse_frozen_part(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  const auto wrong = [&] {
    fail_usage(
        "model.freeze: '{}' is no part of a model; expected e.g. 'backbone', 'backbone until 5ep' or 'backbone from 0.5dur'",
        text);
  };
  if (words.size() % 2 == 0) wrong();
  FrozenPart part{.part = words[0], .from = {}, .until = {}};
  for (size_t i = 1; i < words.size(); i += 2) {
    std::optional<Duration>& bound = words[i] == "from" ? part.from : part.until;
    if ((words[i] != "from" && words[i] != "until") || bound) wrong();
    try {
      bound = Duration::parse(words[i + 1]);
    } catch (const Error& e) {
      fail_usage("model.freeze: '{}': {}", text, e.what());
    }
  }
  return part;
}

}  // namespace tessera
