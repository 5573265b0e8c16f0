#include "weights/formats/sharded_safetensors.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "core/files.h"
#include "weights/formats/safetensors_header.h"
#include "weights/formats/tensor_builder.h"

namespace tessera {

LoadedFile load_safetensors(const Blob& file, const std::string& name) {
  SafetensorsHeader header = parse_safetensors_header(file.bytes, name);
  LoadedFile out{name, "safetensors", {}, std::move(header.metadata), {}, {""}};
  TensorBuilder builder(name, file.size());
  for (const SafetensorsHeader::Entry& entry : header.tensors) {
    out.tensors.emplace_back(entry.name,
                             builder.make(file.part(entry.offset, entry.bytes), entry.type, entry.sizes, entry.name));
  }
  return out;
}

LoadedFile load_sharded_safetensors(const std::filesystem::path& index) {
  LoadedFile out{index.string(), "sharded safetensors", {}, {}, {}, {""}};
  try {
    const auto table = nlohmann::ordered_json::parse(read_text(index));
    TSR_CHECK(table.is_object() && table.contains("weight_map") && table.at("weight_map").is_object(),
              "{} is not the index of a safetensors set: it has no weight_map", out.name);
    std::unordered_map<std::string, std::unordered_map<std::string, at::Tensor>> shards;
    for (const auto& [key, value] : table.at("weight_map").items()) {
      const auto file = value.get<std::string>();
      // The index comes from elsewhere: it may name files beside it and nothing else.
      TSR_CHECK(!file.empty() && std::filesystem::path(file).filename() == file && file != "..",
                "{}: '{}' should be the name of a file beside the index", out.name, file);
      const auto [shard, fresh] = shards.try_emplace(file);
      if (fresh) {
        const std::filesystem::path path = index.parent_path() / file;
        TSR_CHECK(std::filesystem::exists(path), "{} names {}, which is not there; download all parts", out.name,
                  path.string());
        for (auto& [name, tensor] : load_safetensors(map_file(path), path.string()).tensors) shard->second[name] = tensor;
      }
      const auto found = shard->second.find(key);
      TSR_CHECK(found != shard->second.end(), "{}: tensor '{}' should be in {}, but is not", out.name, key, file);
      out.tensors.emplace_back(key, found->second);
    }
  } catch (const nlohmann::json::exception& e) {
    fail("{}: broken index: {}", out.name, e.what());
  }
  return out;
}

}  // namespace tessera
