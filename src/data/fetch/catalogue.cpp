#include <algorithm>
#include <array>
#include <charconv>

#include "config/node.h"
#include "core/error.h"
#include "core/suggest.h"
#include "data/fetch/public_data.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

// Note [Catalogue file]
//   cells:
//     title: what `data fetch --list` shows                    (may be left out, as all but files)
//     folder: cells                                            (default: the name)
//     licence: CC0
//     files:
//       - {url: "http://store/cells.zip", bytes: 123, sha256: "...", strip: cells}
//     has: [images, masks]
//     merge_objects: true
constexpr std::array<std::string_view, 3> kDigests = {"md5", "sha1", "sha256"};

std::string text_of(const Node& node, const std::string& key) {
  if (node.kind != Node::Kind::kScalar || node.scalar.empty())
    fail_usage("{}: {} is not what was expected: a text", node.origin.text(), key);
  return node.scalar;
}

const Node& expect(const Node& node, Node::Kind kind, const std::string& what) {
  if (node.kind != kind) fail_usage("{}: expected {}", node.origin.text(), what);
  return node;
}

void check_below(const Node& node, const std::string& key, const std::string& value) {
  const fs::path path = fs::path(value).lexically_normal();
  if (path.is_absolute() || path.empty() || *path.begin() == ".." || path == ".")
    fail_usage("{}: {}: '{}' leads out of the folder; expected a relative name", node.origin.text(), key, value);
}

PublicFile read_file_entry(const Node& node) {
  PublicFile file;
  for (const auto& [key, value] : expect(node, Node::Kind::kMap, "a map with url, bytes, sha256").map) {
    if (key == "url") {
      file.url = text_of(value, key);
    } else if (key == "bytes") {
      const std::string text = text_of(value, key);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), file.bytes);
      if (error != std::errc() || end != text.data() + text.size() || file.bytes < 0)
        fail_usage("{}: bytes: expected a whole number, got '{}'", value.origin.text(), text);
    } else if (key == "strip") {
      file.strip = text_of(value, key);
      check_below(value, key, file.strip);
    } else if (std::find(kDigests.begin(), kDigests.end(), key) != kDigests.end()) {
      file.algorithm = key;
      file.digest = text_of(value, key);
    } else {
      fail_usage("{}: unknown key '{}'; expected url, bytes, md5, sha1, sha256 or strip", value.origin.text(), key);
    }
  }
  const bool is_http = file.url.starts_with("http://") || file.url.starts_with("https://");
  const std::string name = file.name();
  if (!is_http || name.empty() || name == "." || name == ".." || name.find_first_of("?#%\\") != std::string::npos)
    fail_usage("{}: '{}' names no file; expected an http(s) URL that ends in an archive's name", node.origin.text(), file.url);
  return file;
}

PublicData read_entry(const std::string& name, const Node& node) {
  PublicData data;
  data.name = data.folder = data.title = name;
  data.licence = "not stated";
  for (const auto& [key, value] : expect(node, Node::Kind::kMap, "a map with files").map) {
    if (key == "title") {
      data.title = text_of(value, key);
    } else if (key == "folder") {
      data.folder = text_of(value, key);
    } else if (key == "licence") {
      data.licence = text_of(value, key);
    } else if (key == "licence_url") {
      data.licence_url = text_of(value, key);
    } else if (key == "config") {
      data.config = text_of(value, key);
    } else if (key == "merge_objects") {
      if (text_of(value, key) == "true") data.arrangement = Arrangement::kMergeObjects;
    } else if (key == "files") {
      for (const Node& file : expect(value, Node::Kind::kList, "a list of files").list)
        data.files.push_back(read_file_entry(file));
    } else if (key == "has") {
      for (const Node& part : expect(value, Node::Kind::kList, "a list of names").list) {
        data.has.push_back(text_of(part, key));
        check_below(part, key, data.has.back());
      }
    } else {
      fail_usage("{}: unknown key '{}'; expected title, folder, licence, licence_url, files, has, merge_objects or config",
                 value.origin.text(), key);
    }
  }
  check_below(node, "folder", data.folder);
  if (data.files.empty()) fail_usage("{}: '{}' has no files", node.origin.text(), name);
  return data;
}

}  // namespace

int64_t PublicData::known_bytes() const {
  int64_t bytes = 0;
  for (const PublicFile& file : files) bytes += std::max<int64_t>(0, file.bytes);
  return bytes;
}

std::vector<PublicData> read_catalogue(const fs::path& file) {
  std::vector<PublicData> all;
  const Node root = load_config(file);
  for (const auto& [name, node] : expect(root, Node::Kind::kMap, "a map of data sets by name").map)
    all.push_back(read_entry(name, node));
  return all;
}

const PublicData& find_public_data(std::span<const PublicData> all, const std::string& name) {
  std::vector<std::string> names;
  for (const PublicData& data : all) {
    if (data.name == name) return data;
    names.push_back(data.name);
  }
  fail_usage("unknown data set '{}'{}; `tessera data fetch --list` shows those that are known", name,
             did_you_mean(name, names));
}

const PublicData* public_data_at(std::span<const PublicData> all, const fs::path& path) {
  const std::string end = "/" + fs::absolute(path).lexically_normal().generic_string();
  for (const PublicData& data : all) {
    if (end.ends_with("/" + data.folder) || end.ends_with("/" + data.folder + "/")) return &data;
  }
  return nullptr;
}

}  // namespace tessera
