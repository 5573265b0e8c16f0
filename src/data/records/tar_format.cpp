#include "data/records/tar_format.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/name_list.h"
#include "core/split.h"
#include "data/sample.h"
#include "storage/gunzip.h"
#include "storage/tar.h"

namespace tessera {
namespace {

constexpr std::array kImageEndings = {"jpg", "jpeg", "png", "webp", "tif", "tiff", "bmp", "jp2", "npy", "dcm"};
constexpr std::array kMaskWords = {"mask", "masks", "seg", "label", "labels", "segmentation", "gt"};
constexpr std::array kMaskEndings = {"png", "tif", "tiff", "bmp", "npy"};

std::string unescaped(std::string_view key) {
  std::string text;
  for (size_t i = 0; i < key.size(); ++i) {
    const std::string_view three = key.substr(i, 3);
    const bool dot = three == "%2E", percent = three == "%25";
    text += dot ? '.' : key[i];
    if (dot || percent) i += 2;
  }
  return text;
}

using Members = std::map<std::string, TarMember>;  // by ending

// The first of `names` that is there and is not `taken`.
const TarMember* find_member(const Members& members, const std::vector<std::string>& names, const TarMember* taken) {
  for (const std::string& name : names) {
    const auto found = members.find(name);
    if (found != members.end() && &found->second != taken) return &found->second;
  }
  return nullptr;
}

std::string endings_of(const Members& members) {
  std::vector<std::string> endings;
  for (const auto& [ending, member] : members) endings.push_back(ending);
  return name_list(endings);
}

}  // namespace

MemberNames member_names(const RecordsConfig& config) {
  TSR_CHECK_USAGE(
      config.id.empty(),
      "data.records.id has no effect for type tar: a sample is called as its files are up to the first dot; remove it");
  MemberNames names;
  for (const char* ending : kImageEndings) {
    names.image.emplace_back(ending);
    for (const char* word : {"image.", "img."}) names.image.push_back(std::string(word) + ending);
  }
  for (const char* word : kMaskWords) {
    for (const char* ending : kMaskEndings) names.labels.push_back(fmt::format("{}.{}", word, ending));
  }
  for (const char* ending : kMaskEndings) names.labels.emplace_back(ending);
  const auto as_written = [](const std::string& text) {  // ".png" and "PNG" are png
    return split(lower(text.starts_with('.') ? text.substr(1) : text), ';');
  };
  if (!config.image.empty()) names.image = as_written(config.image);
  if (!config.labels.empty()) names.labels = as_written(config.labels);
  return names;
}

MemberName member_name(const std::string& file) {
  const size_t slash = file.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = file.find('.', begin);
  if (dot == std::string::npos || dot == begin) return {};
  if (file.compare(begin, 2, "__") == 0 && file.ends_with("__")) return {};
  std::string_view key = std::string_view(file).substr(0, dot);
  while (key.starts_with("./")) key.remove_prefix(2);
  return {unescaped(key), lower(file.substr(dot + 1))};
}

std::string TarFormat::name() const {
  return fmt::format("tar {} {}", fmt::join(names_.image, " "), fmt::join(names_.labels, " "));
}

bool TarFormat::is_shard(const std::string& file) const {
  const std::string name = lower(fs::path(file).filename().string());
  return !name.starts_with('.') && (name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz"));
}

bool TarFormat::is_packed(std::span<const uint8_t> bytes) const {
  return looks_like_gzip(bytes);
}

bool TarFormat::is_sample_part(const std::string& ending) const {
  const auto is = [&](const std::string& name) { return name == ending; };
  return std::any_of(names_.image.begin(), names_.image.end(), is) ||
         std::any_of(names_.labels.begin(), names_.labels.end(), is);
}

std::vector<RecordPlace> TarFormat::places(std::span<const uint8_t> bytes, const std::string& shard) const {
  std::vector<RecordPlace> places;
  TarReader reader(bytes, shard);
  RecordPlace group;
  bool is_sample = false;
  const auto end_group = [&] {
    if (is_sample) places.push_back(group);
    is_sample = false;
  };
  while (const std::optional<TarMember> member = reader.next()) {
    const MemberName name = member_name(member->name);
    if (name.ending.empty()) continue;
    if (group.size == 0 || name.key != group.id) {
      end_group();
      group = {name.key, member->header, 0};
    }
    group.size = reader.position() - group.offset;
    is_sample = is_sample || is_sample_part(name.ending);
  }
  end_group();
  return places;
}

std::vector<std::string> TarFormat::first_parts(std::span<const uint8_t> bytes, const std::string& shard) const {
  std::vector<std::string> endings;
  std::string key;
  TarReader reader(bytes, shard);
  while (const std::optional<TarMember> member = reader.next()) {
    const MemberName name = member_name(member->name);
    if (name.ending.empty()) continue;
    if (!endings.empty() && name.key != key) break;
    key = name.key;
    endings.push_back(name.ending);
  }
  return endings;
}

EncodedSample TarFormat::read(const Blob& bytes, const RecordPlace& place, const std::string& id,
                              const std::string& name) const {
  Members members;
  try {
    const std::string cut = fmt::format("{} is not where it was: the archive has changed, or its index is damaged", name);
    TSR_CHECK(place.offset <= bytes.size() && place.size <= bytes.size() - place.offset, "{}", cut);
    TarReader reader(bytes.bytes.subspan(place.offset, place.size), name);
    while (reader.position() < place.size) {
      const std::optional<TarMember> member = reader.next();
      TSR_CHECK(member.has_value(), "{}", cut);
      const MemberName parts = member_name(member->name);
      if (parts.ending.empty()) continue;
      TSR_CHECK(members.emplace(parts.ending, *member).second, "{} has two files {}; remove or rename one", name,
                printable(member->name));
    }
  } catch (const Error& error) {
    throw BadSample(id, error.what());
  }
  const auto content = [&](const TarMember& member) { return bytes.part(place.offset + member.offset, member.size); };
  const TarMember* image = find_member(members, names_.image, nullptr);
  if (image == nullptr)
    throw BadSample(id, fmt::format("{} has no image among its files ({}); set data.records.image", name, endings_of(members)));
  EncodedSample sample{id, content(*image), fmt::format("{}, {}", name, image->name), {}, {}};
  if (const TarMember* labels = find_member(members, names_.labels, image)) {
    sample.labels = content(*labels);
    sample.labels_name = fmt::format("{}, {}", name, labels->name);
  } else {
    sample.labels_name =
        fmt::format("{}, which has no mask among its files ({}; see data.records.labels)", name, endings_of(members));
  }
  return sample;
}

}  // namespace tessera
