#include "weights/formats/pickle.h"

#include <bit>
#include <charconv>
#include <unordered_map>

#include "core/byte_reader.h"
#include "weights/formats/pickle_globals.h"

namespace tessera {
namespace {

// A value costs about 100 bytes here and one byte in the file; a checkpoint has some ten thousand.
constexpr size_t kMostValues = 4'000'000;
// Strings and lists can be copied by short instructions; all copies together may be this large.
constexpr size_t kCopies = 64 << 20;
constexpr uint8_t kNewestProtocol = 5;

// Python's pickle machine, without its hands: a stack, marks on it, and a memo.
class Unpickler {
 public:
  Unpickler(std::span<const uint8_t> bytes, const std::string& name) : in_(bytes, name) {}

  Pickle run() {
    while (!step(in_.number<uint8_t>())) continue;
    out_.root = pop();
    out_.length = in_.position();
    return std::move(out_);
  }

 private:
  PickleValue& make(PickleKind kind) {
    TSR_CHECK(out_.values.size() < kMostValues, "{}: its pickle holds more than {} values", in_.name(), kMostValues);
    out_.values.emplace_back().kind = kind;
    return out_.values.back();
  }
  void push(const PickleValue* value) { stack_.push_back(const_cast<PickleValue*>(value)); }
  void push_int(int64_t value, PickleKind kind = PickleKind::kInt) {
    PickleValue& made = make(kind);
    made.integer = value;
    push(&made);
  }
  void push_text(PickleKind kind, uint64_t length) {
    const std::string_view text = in_.text(length);
    PickleValue& made = make(kind);
    made.text = text;
    push(&made);
  }
  void charge(const PickleValue& made) {
    copied_ += made.text.size() + made.items.size() * sizeof(void*);
    TSR_CHECK(copied_ <= kCopies + in_.position(), "{}: its pickle copies values without end", in_.name());
  }
  PickleValue& top() {
    TSR_CHECK(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "{}: broken pickle: the stack is empty", in_.name());
    return *stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = &top();
    stack_.pop_back();
    return value;
  }
  std::vector<const PickleValue*> pop_to_mark() {
    TSR_CHECK(!marks_.empty(), "{}: broken pickle: no mark on the stack", in_.name());
    const auto from = stack_.begin() + static_cast<int64_t>(marks_.back());
    std::vector<const PickleValue*> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_items(PickleKind kind, std::vector<const PickleValue*> items) {
    PickleValue& made = make(kind);
    made.items = std::move(items);
    push(&made);
  }
  void push_last(size_t count) {  // a tuple of the topmost values
    std::vector<const PickleValue*> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push_items(PickleKind::kTuple, std::move(items));
  }

  // Into the container on top. Items for an opaque object are dropped: nothing can be said about them.
  void add(const std::vector<const PickleValue*>& items, PickleKind kind) {
    PickleValue& into = top();
    if (into.is(PickleKind::kOpaque)) return;
    TSR_CHECK(into.is(kind) && (kind != PickleKind::kDict || items.size() % 2 == 0),
              "{}: broken pickle: items for something that is no {}", in_.name(), kind == PickleKind::kDict ? "dict" : "list");
    into.items.insert(into.items.end(), items.begin(), items.end());
  }

  void push_long(uint64_t length) {
    PickleValue& made = make(PickleKind::kInt);
    made.text = in_.text(length);
    if (length <= sizeof(int64_t)) {
      uint64_t bits = length > 0 && (made.text.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
      std::memcpy(&bits, made.text.data(), length);
      made.integer = static_cast<int64_t>(bits);
      made.text.clear();
    }
    push(&made);
  }
  void push_decimal(std::string_view line) {
    if (line == "00" || line == "01") return push_int(line == "01" ? 1 : 0, PickleKind::kBool);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    TSR_CHECK(error == std::errc() && end == line.data() + line.size(), "{}: broken pickle: a bad number", in_.name());
    push_int(value);
  }

  void push_global(const std::string& module, const std::string& attribute) {
    PickleValue& made = make(PickleKind::kGlobal);
    made.text = module + "." + attribute;
    charge(made);
    made.integer = static_cast<int64_t>(find_global(made.text, in_.name()));
    push(&made);
  }
  void stack_global() {
    const PickleValue* attribute = pop();
    const PickleValue* module = pop();
    TSR_CHECK(attribute->is(PickleKind::kString) && module->is(PickleKind::kString), "{}: broken pickle: a global without name",
              in_.name());
    push_global(module->text, attribute->text);
  }
  void call(const PickleValue& args) {
    const PickleValue& callable = *pop();
    TSR_CHECK(args.is(PickleKind::kTuple), "{}: broken pickle: a call without arguments", in_.name());
    PickleValue& made = make(PickleKind::kNone);
    push(call_global(callable, args, made, in_.name()));
    charge(made);
  }
  void persistent() {
    const PickleValue& id = *pop();
    PickleValue& made = make(PickleKind::kStorage);
    read_storage(made, id, in_.name());
    push(&made);
  }

  void remember(uint64_t index) { memo_[index] = &top(); }
  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    TSR_CHECK(found != memo_.end(), "{}: broken pickle: memo {} was never written", in_.name(), index);
    push(found->second);
  }

  bool step(uint8_t code);

  ByteReader in_;
  Pickle out_;
  size_t copied_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

// One instruction; true at the end of the pickle.
bool Unpickler::step(uint8_t code) {
  using K = PickleKind;
  switch (code) {
    case 0x80: {
      const auto protocol = in_.number<uint8_t>();
      TSR_CHECK(protocol <= kNewestProtocol, "{}: pickle protocol {} is not known (2 to {} are)", in_.name(), protocol,
                kNewestProtocol);
      return false;
    }
    case 0x95: in_.skip(8); return false;  // a frame: only a hint for buffering
    case '.': return true;
    case '(': marks_.push_back(stack_.size()); return false;
    // POP on a mark removes the mark, as in Python.
    case '0': !marks_.empty() && marks_.back() == stack_.size() ? marks_.pop_back() : static_cast<void>(pop()); return false;
    case '1': pop_to_mark(); return false;
    case '2': push(&top()); return false;
    case 'N': push(&make(K::kNone)); return false;
    case 0x88: push_int(1, K::kBool); return false;
    case 0x89: push_int(0, K::kBool); return false;
    case 'I': push_decimal(in_.line()); return false;
    case 'J': push_int(in_.number<int32_t>()); return false;
    case 'K': push_int(in_.number<uint8_t>()); return false;
    case 'M': push_int(in_.number<uint16_t>()); return false;
    case 0x8a: push_long(in_.number<uint8_t>()); return false;
    case 0x8b: push_long(in_.number<uint32_t>()); return false;
    case 'G': {
      PickleValue& made = make(K::kFloat);
      made.real = std::bit_cast<double>(__builtin_bswap64(in_.number<uint64_t>()));
      push(&made);
      return false;
    }
    case 'T': push_text(K::kString, in_.number<uint32_t>()); return false;
    case 'U': push_text(K::kString, in_.number<uint8_t>()); return false;
    case 'X': push_text(K::kString, in_.number<uint32_t>()); return false;
    case 0x8c: push_text(K::kString, in_.number<uint8_t>()); return false;
    case 0x8d: push_text(K::kString, in_.number<uint64_t>()); return false;
    case 'B': push_text(K::kBytes, in_.number<uint32_t>()); return false;
    case 'C': push_text(K::kBytes, in_.number<uint8_t>()); return false;
    case 0x8e:
    case 0x96: push_text(K::kBytes, in_.number<uint64_t>()); return false;
    case ']':
    case 0x8f: push(&make(K::kList)); return false;
    case 'a': {
      const PickleValue* item = pop();
      add({item}, K::kList);
      return false;
    }
    case 'e':
    case 0x90: add(pop_to_mark(), K::kList); return false;
    case 'l':
    case 0x91: push_items(K::kList, pop_to_mark()); return false;
    case ')': push(&make(K::kTuple)); return false;
    case 't': push_items(K::kTuple, pop_to_mark()); return false;
    case 0x85: push_last(1); return false;
    case 0x86: push_last(2); return false;
    case 0x87: push_last(3); return false;
    case '}': push(&make(K::kDict)); return false;
    case 'd': {
      const auto items = pop_to_mark();
      push(&make(K::kDict));
      add(items, K::kDict);
      return false;
    }
    case 's': {
      const PickleValue* value = pop();
      const PickleValue* key = pop();
      add({key, value}, K::kDict);
      return false;
    }
    case 'u': add(pop_to_mark(), K::kDict); return false;
    case 'c': {
      const std::string module(in_.line());
      push_global(module, std::string(in_.line()));
      return false;
    }
    case 0x93: stack_global(); return false;
    case 'R':
    case 0x81: call(*pop()); return false;
    case 0x92: {
      pop();  // keyword arguments: none of the known callables takes any
      call(*pop());
      return false;
    }
    case 'b': {
      const PickleValue* state = pop();
      build_value(top(), *state, in_.name());
      charge(top());
      return false;
    }
    case 'Q': persistent(); return false;
    case 'q': remember(in_.number<uint8_t>()); return false;
    case 'r': remember(in_.number<uint32_t>()); return false;
    case 0x94: remember(memo_.size()); return false;
    case 'h': recall(in_.number<uint8_t>()); return false;
    case 'j': recall(in_.number<uint32_t>()); return false;
    default:
      fail("{}: pickle instruction {:#04x} at offset {} is damaged or one that weight files do not use", in_.name(), code,
           in_.position() - 1);
  }
}

}  // namespace

const PickleValue* PickleValue::find(const std::string& key) const {
  for (size_t i = items.size(); kind == PickleKind::kDict && i >= 2; i -= 2) {
    if (items[i - 2]->is(PickleKind::kString) && items[i - 2]->text == key) return items[i - 1];
  }
  return nullptr;
}

Pickle parse_pickle(std::span<const uint8_t> bytes, const std::string& name) {
  return Unpickler(bytes, name).run();
}

}  // namespace tessera
