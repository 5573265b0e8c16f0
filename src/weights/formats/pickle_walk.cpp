#include "weights/formats/pickle_walk.h"

#include <set>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kDeepest = 64;
constexpr size_t kMostVisits = 4'000'000, kMostKeyBytes = 64 << 20, kLongestKey = 1024, kLongestText = 256;

class Walker {
 public:
  explicit Walker(const std::string& name) : name_(name) {}

  void visit(const PickleValue& value, const std::string& key, int depth) {
    TSR_CHECK(depth <= kDeepest, "{}: containers nested more than {} deep, or one that holds itself, at '{}'", name_, kDeepest,
              key.substr(0, 100));
    TSR_CHECK(++visits_ <= kMostVisits, "{}: its containers unfold to more than {} values", name_, kMostVisits);
    switch (value.kind) {
      case PickleKind::kDict: visit_dict(value, key, depth); return;
      case PickleKind::kTuple:
      case PickleKind::kList:
        for (size_t i = 0; i < value.items.size(); ++i) visit(*value.items[i], join(key, std::to_string(i)), depth + 1);
        return;
      case PickleKind::kTensor: add_tensor(value, key); return;
      case PickleKind::kArray:
      case PickleKind::kOpaque:
        out_.opaque.emplace_back(charged(key), value.text.empty() ? "numpy.ndarray" : value.text);
        return;
      case PickleKind::kGlobal: visit_global(value, key); return;
      case PickleKind::kBool: note(key, value.integer != 0 ? "True" : "False"); return;
      case PickleKind::kInt:
        if (value.text.empty()) note(key, std::to_string(value.integer));
        return;
      case PickleKind::kFloat: note(key, fmt::format("{}", value.real)); return;
      case PickleKind::kString:
        if (value.text.size() <= kLongestText) note(key, value.text);
        return;
      case PickleKind::kNone:
      case PickleKind::kBytes:
      case PickleKind::kStorage:
      case PickleKind::kDtype: return;
    }
  }

  PthFile take() { return std::move(out_); }

 private:
  void visit_dict(const PickleValue& dict, const std::string& key, int depth) {
    bool holds_tensors = false;
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& name = *dict.items[i];
      if (!name.is(PickleKind::kString) && !name.is(PickleKind::kInt)) continue;  // enums and tuples: never weights
      TSR_CHECK(name.text.size() <= kLongestKey, "{}: a key of {} characters", name_, name.text.size());
      visit(*dict.items[i + 1], join(key, name.is(PickleKind::kInt) ? std::to_string(name.integer) : name.text), depth + 1);
      holds_tensors |= name.is(PickleKind::kString) && dict.items[i + 1]->is(PickleKind::kTensor);
    }
    if (holds_tensors) out_.groups.push_back(charged(key));
  }

  void add_tensor(const PickleValue& value, const std::string& key) {
    TSR_CHECK(keys_.insert(key).second, "{}: two tensors are called '{}'", name_, key);
    out_.tensors.push_back({charged(key), *value.tensor, {}});
  }

  // A name alone (torch.float32, a class) is harmless; an unknown one is listed all the same.
  void visit_global(const PickleValue& value, const std::string& key) {
    if (value.integer == 0) {
      out_.opaque.emplace_back(charged(key), value.text);
    } else {
      note(key, value.text);
    }
  }

  void note(const std::string& key, std::string text) { out_.metadata[charged(key)] = std::move(text); }

  static std::string join(const std::string& key, const std::string& name) { return key.empty() ? name : key + "." + name; }
  const std::string& charged(const std::string& key) {
    key_bytes_ += key.size();
    TSR_CHECK(key_bytes_ <= kMostKeyBytes, "{}: its keys unfold to more than {} bytes", name_, kMostKeyBytes);
    return key;
  }

  std::string name_;
  PthFile out_;
  std::set<std::string> keys_;
  size_t visits_ = 0, key_bytes_ = 0;
};

}  // namespace

PthFile walk_pickle(const PickleValue& root, const std::string& name) {
  TSR_CHECK(!root.is(PickleKind::kOpaque), "{}: refused: it is a pickled object of {}, not weights; save its state_dict()",
            name, root.text);
  Walker walker(name);
  walker.visit(root, "", 0);
  return walker.take();
}

}  // namespace tessera
