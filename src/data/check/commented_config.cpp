#include "data/check/commented_config.h"

#include <sstream>

namespace tessera {
namespace {

// A reason as comment lines of at most 110 columns.
std::string comment(const std::string& reason, const std::string& indent) {
  constexpr size_t kWidth = 110;
  std::istringstream words(reason);
  std::string text, line = indent + "#", word;
  while (words >> word) {
    if (line.size() + 1 + word.size() > kWidth) {
      text += line + "\n";
      line = indent + "#";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

struct Tree {
  std::string name, value, reason;
  std::vector<Tree> below;

  Tree& child(const std::string& wanted) {
    for (Tree& one : below) {
      if (one.name == wanted) return one;
    }
    return below.emplace_back(Tree{wanted, "", "", {}});
  }
  std::string text(const std::string& indent) const {
    std::string all;
    for (const Tree& one : below) {
      if (!one.reason.empty()) all += comment(one.reason, indent);
      all += indent + one.name + (one.below.empty() ? ": " + one.value : ":") + "\n" + one.text(indent + "  ");
    }
    return all;
  }
};

}  // namespace

std::string commented_config(const std::vector<CommentedValue>& choices) {
  Tree root;
  for (const CommentedValue& choice : choices) {
    Tree* at = &root;
    for (size_t begin = 0; begin <= choice.key.size();) {
      const size_t end = std::min(choice.key.find('.', begin), choice.key.size());
      at = &at->child(choice.key.substr(begin, end - begin));
      begin = end + 1;
    }
    at->value = choice.value;
    at->reason = choice.reason;
  }
  return root.text("");
}

}  // namespace tessera
