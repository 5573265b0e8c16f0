#include "data/datasets/coco_annotations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "core/error.h"
#include "core/printable.h"
#include "data/datasets/char_reader.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr int64_t kFirstWord = kNoCocoId + 1;

// Keeps the few fields that matter of { "images": [{...}], "annotations": [{...}], "categories": [{...}] }, ignores the rest.
class Handler final : public nlohmann::json_sax<Json> {
 public:
  Handler(const fs::path& path, const CharReader& reader, CocoFile& out) : path_(path.string()), reader_(reader), out_(out) {}

  bool null() override { return true; }
  bool boolean(bool value) override { return number(value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value), value); }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value), static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (depth_ == kEntry && is_id() && value != std::floor(value)) return refuse_id(text);
    return number(value);
  }
  bool binary(binary_t&) override { return true; }

  bool string(string_t& value) override {
    if (depth_ != kEntry) return true;
    if (is_id()) return number(0, id_of(value));
    if (section_ == "images" && key_ == "file_name") image_.file_name = value;
    if (section_ == "annotations" && key_ == "file_name") mask_file_ = value;
    if (section_ == "categories" && key_ == "name") category_.name = value;
    if (section_ == "categories" && key_ == "supercategory") category_.supercategory = value;
    return true;
  }

  bool key(string_t& value) override {
    if (depth_ == 1) section_ = value;
    if (depth_ == kEntry) key_ = value;
    return true;
  }

  bool start_object(std::size_t) override {
    open();
    if (depth_ == kEntry) {
      image_ = {};
      annotation_ = {};
      segments_ = false;
      mask_file_.clear();
      category_ = {};
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == kEntry) keep_entry();
    close();
    return true;
  }
  bool start_array(std::size_t) override {
    open();
    if (depth_ == 2) sections_.insert(section_);
    return true;
  }
  bool end_array() override {
    close();
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail("{} is not valid JSON (damaged or cut off?): {}", path_, error.what());
  }

  void check_sections() const {
    for (const char* name : {"images", "annotations", "categories"}) {
      TSR_CHECK(sections_.contains(name),
                "{} has no list '{}'; expected a COCO instances file with images, annotations, categories", path_, name);
    }
  }

 private:
  static constexpr int kEntry = 3;  // { "images": [ { here

  // Brackets need no look-ahead, so when one is reported the reader stands right behind it.
  void open() {
    if (++depth_ == kEntry + 1 && is_segmentation()) {
      annotation_.offset = reader_.offset() - 1;
      segments_ = key_ == "segments_info";
    }
  }
  void close() {
    if (depth_-- == kEntry + 1 && is_segmentation()) {
      annotation_.length = reader_.offset() - annotation_.offset;
    }
  }

  bool is_segmentation() const { return section_ == "annotations" && (key_ == "segmentation" || key_ == "segments_info"); }

  bool is_id() const {
    return (key_ == "id" && (section_ == "images" || section_ == "annotations" || section_ == "categories")) ||
           (section_ == "annotations" && (key_ == "image_id" || key_ == "category_id"));
  }

  int64_t id_of(const std::string& word) {
    // Nothing refers to an annotation: its place in the list names it as well.
    if (section_ == "annotations" && key_ == "id") return static_cast<int64_t>(out_.annotations.size());
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && std::to_string(number) == word) return number;
    const auto [place, is_new] = words_.emplace(word, kFirstWord + static_cast<int64_t>(out_.words.size()));
    if (is_new) out_.words.push_back(word);
    return place->second;
  }

  bool refuse_id(const std::string& what) {
    const size_t place = section_ == "images"        ? out_.images.size()
                         : section_ == "annotations" ? out_.annotations.size()
                                                     : out_.categories.size();
    const std::string fault = fmt::format("{}[{}].{} is {}: expected a whole number", section_, place, key_, what);
    if (section_ == "categories") fail("{}: {}", path_, fault);
    note(section_ == "images" ? image_.fault : annotation_.fault, fault);
    return true;
  }

  // The first fault of an entry is what is told.
  static void note(std::string& fault, const std::string& text) {
    if (fault.empty()) fault = text;
  }

  // The nearest whole number that fits: sizes beyond every image stay so, and are told of where the image is used.
  template <class Whole>
  static Whole nearest(double value) {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<Whole>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<Whole>::max());
    if (std::isnan(value) || value <= kLow) return std::numeric_limits<Whole>::min();
    return value >= kHigh ? std::numeric_limits<Whole>::max() : static_cast<Whole>(value);
  }

  bool number(double value) { return number(value, nearest<int64_t>(value)); }
  bool number(double value, int64_t whole) {
    if (depth_ != kEntry) return true;
    if (section_ == "images") {
      if (key_ == "id") image_.id = whole;
      if (key_ == "height") image_.size.height = nearest<int>(value);
      if (key_ == "width") image_.size.width = nearest<int>(value);
    } else if (section_ == "annotations") {
      if (key_ == "id") annotation_.id = whole;
      if (key_ == "image_id") annotation_.image_id = whole;
      if (key_ == "category_id") annotation_.category_id = whole;
      if (key_ == "area") annotation_.area = value;
      if (key_ == "iscrowd") annotation_.crowd = whole != 0;
    } else if (section_ == "categories" && key_ == "id") {
      category_.id = whole;
    }
    return true;
  }

  void keep_entry() {
    if (section_ == "images") {
      if (image_.id == kNoCocoId) note(image_.fault, fmt::format("image {} has no 'id'", out_.images.size()));
      if (image_.file_name.empty())
        note(image_.fault, fmt::format("image {} has no 'file_name'", coco_id_text(image_.id, out_.words)));
      if (image_.size.height <= 0 || image_.size.width <= 0)
        note(image_.fault, fmt::format("image {} lacks 'height' or 'width'", coco_id_text(image_.id, out_.words)));
      out_.images.push_back(std::move(image_));
    } else if (section_ == "annotations" && segments_) {
      if (mask_file_.empty()) note(annotation_.fault, fmt::format("annotation {} has no 'file_name'", out_.annotations.size()));
      annotation_.id = annotation_.image_id;
      annotation_.mask_file = static_cast<int32_t>(out_.mask_files.size());
      out_.mask_files.push_back(std::move(mask_file_));
      out_.annotations.push_back(annotation_);
    } else if (section_ == "annotations") {
      if (annotation_.id == kNoCocoId)
        note(annotation_.fault, fmt::format("annotation {} has no 'id'", out_.annotations.size()));
      if (annotation_.category_id == kNoCocoId)
        note(annotation_.fault, fmt::format("annotation {} has no 'category_id'", annotation_.id));
      out_.annotations.push_back(annotation_);
    } else if (section_ == "categories") {
      TSR_CHECK(category_.id != kNoCocoId && !category_.name.empty(), "{}: category {} lacks 'id' or 'name'", path_,
                out_.categories.size());
      out_.categories.push_back(std::move(category_));
    }
  }

  std::string path_;
  const CharReader& reader_;
  CocoFile& out_;
  std::unordered_map<std::string, int64_t> words_;
  int depth_ = 0;
  std::string section_, key_;
  std::set<std::string> sections_;
  CocoImage image_;
  CocoAnnotation annotation_;
  bool segments_ = false;  // it has segments_info: the file is panoptic
  std::string mask_file_;
  CocoCategory category_;
};

}  // namespace

std::string coco_id_text(int64_t id, std::span<const std::string> words) {
  if (id == kNoCocoId) return "without an id";
  const int64_t place = id - kFirstWord;  // of a number that was written: far behind the words
  const bool is_word = id < 0 && place < static_cast<int64_t>(words.size());
  return is_word ? printable(words[static_cast<size_t>(place)]) : std::to_string(id);
}

CocoFile read_coco_file(const fs::path& path) {
  CocoFile file;
  const std::string start = start_of_file(path, 2);
  TSR_CHECK(start != "\xFF\xFE" && start != "\xFE\xFF", "{} is UTF-16 text: expected UTF-8; save it with that encoding",
            path.string());
  CharReader reader(path);
  Handler handler(path, reader, file);
  Json::sax_parse(CharIterator(reader), CharIterator(), &handler);
  handler.check_sections();
  std::sort(file.categories.begin(), file.categories.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (size_t i = 1; i < file.categories.size(); ++i) {
    TSR_CHECK(file.categories[i - 1].id != file.categories[i].id, "{}: categories '{}' and '{}' have the same id {}",
              path.string(), file.categories[i - 1].name, file.categories[i].name,
              coco_id_text(file.categories[i].id, file.words));
  }
  return file;
}

}  // namespace tessera
