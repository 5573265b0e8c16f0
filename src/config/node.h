#pragma once
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

// Note [Layers]
// Values of later layers lie over those of earlier ones: a file's over its bases', the command line's over all. Files have even
// numbers, so that a recipe has a place of its own right under the file that names it: Note [Recipes].

// Where a value came from: "configs/a.yaml:12", "command line" or "default".
struct Origin {
  static constexpr int kCommandLine = std::numeric_limits<int>::max();
  std::string file;
  int line = 0;
  int layer = 0;  // Note [Layers]
  std::string text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }
};

// A config as read, before it has types: a tree of maps, lists and scalars in which every value remembers its origin.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string scalar;
  bool quoted = false;  // "12" in quotes is a string, never a number
  std::vector<Node> list;
  std::vector<std::pair<std::string, Node>> map;  // in file order
  Origin origin;

  // Defined where the type is complete: a pair of an incomplete one must not be looked into before.
  Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  Node* find(const std::string& key);
  const Node* find(const std::string& key) const;
};

// Reads a YAML or JSON file with its `base:` files (a name or a list, relative to the file; later wins, the file itself
// last). Where there is no such file it may be the name of a built-in config (config/builtin_configs.h), for a base as well.
// Throws UsageError with file:line.
Node load_config(const std::filesystem::path& path);

// The same for text that is not in a file; `name` is for messages. No `base:`.
Node parse_config(const std::string& text, const std::string& name);

// The node that a dotted key names, entries of lists by their number; or null.
const Node* find_path(const Node& root, const std::string& key);

// Lays `over` on `under`: maps are merged key by key, everything else is replaced.
void merge(Node& under, const Node& over);

// "optimizer.lr=0.02": sets one value; the text after '=' is YAML, so lists and maps work. List entries are named by number.
void apply_override(Node& root, const std::string& assignment);

}  // namespace tessera
