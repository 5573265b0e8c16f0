#include "data/datasets/pair_list.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tessera {
namespace {

// Numbers of forms that are none: there is no file, or its whole path follows.
constexpr uint16_t kNoFile = 0xFFFF, kWholePath = 0xFFFE, kMostForms = 0x1000;

template <class T>
void put_number(std::string& text, T number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put_text(std::string& text, const std::string& part) {
  put_number(text, static_cast<uint32_t>(part.size()));
  text += part;
}

// Reads what was put, one after another.
class PairReader {
 public:
  PairReader(const std::string& text, uint64_t at) : at_(text.data() + at) {}
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    at_ += size;
    return {at_ - size, size};
  }

 private:
  const char* at_;
};

}  // namespace

PairList::PairList(const std::vector<FilePair>& pairs) {
  begins_.reserve(pairs.size());
  for (const FilePair& pair : pairs) add(pair);
  text_.shrink_to_fit();
  form_numbers_.clear();
}

void PairList::add(const FilePair& pair) {
  begins_.push_back(text_.size());
  put_text(text_, pair.stem);
  put_number(text_, static_cast<uint16_t>(pair.class_masks.size()));
  put_file(pair.stem, pair.image);
  put_file(pair.stem, pair.mask);
  for (const std::string& mask : pair.class_masks) put_file(pair.stem, mask);
}

void PairList::put_file(const std::string& stem, const std::string& file) {
  if (file.empty()) return put_number(text_, kNoFile);
  const size_t at = file.rfind(stem);
  if (at != std::string::npos) {
    const std::string before = file.substr(0, at), behind = file.substr(at + stem.size());
    const auto [form, is_new] = form_numbers_.try_emplace(before + '\0' + behind, static_cast<uint16_t>(forms_.size()));
    if (is_new && forms_.size() < kMostForms) forms_.push_back({before, behind});
    if (form->second < forms_.size()) return put_number(text_, form->second);
    form_numbers_.erase(form);
  }
  put_number(text_, kWholePath);
  put_text(text_, file);
}

std::string PairList::stem(size_t index) const {
  return PairReader(text_, begins_.at(index)).text();
}

FilePair PairList::operator[](size_t index) const {
  PairReader from(text_, begins_.at(index));
  FilePair pair;
  pair.stem = from.text();
  pair.class_masks.resize(from.number<uint16_t>());
  const auto file = [&]() -> std::string {
    const auto form = from.number<uint16_t>();
    if (form == kNoFile) return "";
    return form == kWholePath ? from.text() : forms_[form].before + pair.stem + forms_[form].behind;
  };
  pair.image = file();
  pair.mask = file();
  for (std::string& mask : pair.class_masks) mask = file();
  return pair;
}

size_t PairList::bytes() const {
  return text_.capacity() + begins_.capacity() * sizeof(uint64_t);
}

}  // namespace tessera
