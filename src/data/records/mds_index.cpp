#include "data/records/mds_index.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/printable.h"
#include "data/records/python_json.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

// Offsets in a shard are of 32 bits.
constexpr uint64_t kMostShardBytes = std::numeric_limits<uint32_t>::max();

constexpr const char* kAdvice = "was it written by mosaicml-streaming or `tessera data convert`, and copied whole?";

// Reads the members of one JSON object; complaints name it.
class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    TSR_CHECK(object.is_object(), "{}: expected an object; {}", where_, kAdvice);
  }

  const Json& get(const char* key) const {
    const auto found = object_.find(key);
    TSR_CHECK(found != object_.end(), "{} has no '{}'; {}", where_, key, kAdvice);
    return *found;
  }
  std::string text(const char* key) const {
    const Json& value = get(key);
    TSR_CHECK(value.is_string(), "{}: '{}' is no text", where_, key);
    return value.get<std::string>();
  }
  uint64_t count(const char* key, uint64_t most) const { return number(get(key), key, most); }
  const Json& list(const char* key) const {
    const Json& value = get(key);
    TSR_CHECK(value.is_array(), "{}: '{}' is no list", where_, key);
    return value;
  }
  uint64_t number(const Json& value, const char* key, uint64_t most) const {
    TSR_CHECK(value.is_number_unsigned() && value.get<uint64_t>() <= most, "{}: '{}' is {}, expected a number from 0 to {}",
              where_, key, printable(value.dump().substr(0, 40)), most);
    return value.get<uint64_t>();
  }
  const std::string& where() const { return where_; }

 private:
  const Json& object_;
  std::string where_;
};

// A name from a file must not lead out of the folder. Merged indices have shards in folders below.
void check_file_name(const std::string& name, const std::string& where) {
  bool ok = !name.empty() && name.find('\0') == std::string::npos && name.find('\\') == std::string::npos;
  for (size_t at = 0; ok && at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = std::string_view(name).substr(at, end - at);
    ok = !part.empty() && part != "." && part != "..";
    at = end + 1;
  }
  TSR_CHECK(ok, "{} names the file '{}', expected one in the folder of the index", where, printable(name));
}

MdsFile parse_file(const Json& value, const std::string& where) {
  const Members in(value, where);
  MdsFile file;
  file.name = in.text("basename");
  check_file_name(file.name, where);
  file.bytes = in.count("bytes", 2 * kMostShardBytes);
  for (const auto& [algorithm, hash] : in.get("hashes").items()) {
    TSR_CHECK(hash.is_string(), "{}: the hash {} is no text", where, printable(algorithm));
    file.hashes[algorithm] = hash.get<std::string>();
  }
  return file;
}

MdsColumns parse_columns(const Members& in) {
  const Json &names = in.list("column_names"), &encodings = in.list("column_encodings"), &sizes = in.list("column_sizes");
  TSR_CHECK(names.size() == encodings.size() && names.size() == sizes.size() && !names.empty(),
            "{} has {} column names, {} encodings and {} sizes", in.where(), names.size(), encodings.size(), sizes.size());
  MdsColumns columns;
  for (size_t i = 0; i < names.size(); ++i) {
    TSR_CHECK(names[i].is_string() && encodings[i].is_string(), "{}: column {} has no name or encoding", in.where(), i);
    const uint64_t size = sizes[i].is_null() ? 0 : in.number(sizes[i], "column_sizes", kMostShardBytes);
    columns.push_back({names[i].get<std::string>(), encodings[i].get<std::string>(), size});
  }
  return columns;
}

MdsOptions parse_options(const Members& in) {
  MdsOptions options;
  if (const Json& compression = in.get("compression"); compression.is_string())
    options.compression = compression.get<std::string>();
  for (const Json& hash : in.list("hashes")) {
    TSR_CHECK(hash.is_string(), "{}: a hash is no text", in.where());
    options.hashes.push_back(hash.get<std::string>());
  }
  // Some versions wrote it as text, such as "64mb"; nothing depends on it when reading.
  if (const Json& limit = in.get("size_limit"); limit.is_number_unsigned()) options.size_limit = limit.get<uint64_t>();
  return options;
}

MdsShard parse_shard(const Json& value, const std::string& where) {
  const Members in(value, where);
  const std::string format = in.text("format");
  TSR_CHECK(format == "mds", "{} is of format '{}', only mds can be read", where, printable(format));
  TSR_CHECK(in.count("version", kMostShardBytes) == 2, "{} is of a version other than 2", where);
  MdsShard shard;
  shard.columns = std::make_shared<const MdsColumns>(parse_columns(in));
  shard.options = parse_options(in);
  shard.samples = static_cast<int64_t>(in.count("samples", kMostShardBytes / sizeof(uint32_t)));
  shard.raw = parse_file(in.get("raw_data"), where + ", raw_data");
  TSR_CHECK(shard.raw.bytes <= kMostShardBytes, "{} has {} bytes, at most {} are possible", where, shard.raw.bytes,
            kMostShardBytes);
  if (const Json& zip = in.get("zip_data"); !zip.is_null()) shard.zip = parse_file(zip, where + ", zip_data");
  TSR_CHECK(shard.zip.has_value() == !shard.options.compression.empty(),
            "{} names a compressed file but no compression, or the reverse", where);
  return shard;
}

Json options_json(const MdsOptions& options) {
  Json json = {{"format", "mds"}, {"hashes", options.hashes}, {"version", 2}};
  json["compression"] = options.compression.empty() ? Json() : Json(options.compression);
  json["size_limit"] = options.size_limit ? Json(*options.size_limit) : Json();
  return json;
}

Json header_json(const MdsColumns& columns, const MdsOptions& options) {
  Json json = options_json(options);
  for (const char* key : {"column_names", "column_encodings", "column_sizes"}) json[key] = Json::array();
  for (const MdsColumn& column : columns) {
    json["column_names"].push_back(column.name);
    json["column_encodings"].push_back(column.encoding);
    json["column_sizes"].push_back(column.size > 0 ? Json(column.size) : Json());
  }
  return json;
}

Json file_json(const MdsFile& file) {
  return {{"basename", file.name}, {"bytes", file.bytes}, {"hashes", file.hashes}};
}

}  // namespace

std::vector<MdsShard> parse_mds_index(std::string_view text, const std::string& name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    fail("{} is no JSON ({}); {}", name, printable(error.what()), kAdvice);
  }
  const Members in(json, name);
  TSR_CHECK(in.count("version", kMostShardBytes) == 2, "{} is of a version other than 2", name);
  std::vector<MdsShard> shards;
  for (const Json& value : in.list("shards")) {
    shards.push_back(parse_shard(value, fmt::format("{}, shard {}", name, shards.size())));
    if (shards.size() > 1 && *shards.back().columns == *shards.front().columns) shards.back().columns = shards.front().columns;
  }
  return shards;
}

std::string mds_index_text(const std::vector<MdsShard>& shards) {
  Json all = Json::array();
  for (const MdsShard& shard : shards) {
    Json json = header_json(*shard.columns, shard.options);
    json["samples"] = shard.samples;
    json["raw_data"] = file_json(shard.raw);
    json["zip_data"] = shard.zip ? file_json(*shard.zip) : Json();
    all.push_back(std::move(json));
  }
  return python_json({{"shards", all}, {"version", 2}});
}

std::string mds_header_text(const MdsColumns& columns, const MdsOptions& options) {
  return python_json(header_json(columns, options));
}

}  // namespace tessera
