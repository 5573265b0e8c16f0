// `tessera models pretrained`, `fetch` and `inspect`: public weights by name, and what is in a weight file.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/json_text.h"
#include "core/printable.h"
#include "weights/fetch/weight_cache.h"
#include "weights/fetch/zoo.h"
#include "weights/formats/load_weights.h"
#include "weights/maps/key_map.h"

namespace tessera {
namespace {

struct PretrainedArguments {
  std::vector<std::string> sources;
  std::string file;
  bool json = false;
};

void list_pretrained(const PretrainedArguments& arguments) {
  nlohmann::json all = nlohmann::json::array();
  if (!arguments.json) fmt::print("{:<46} {:<9} {:<7} {}\n", "model.pretrained=", "checksum", "here", "fits, for example");
  for (const ZooEntry& entry : zoo()) {
    const WeightSource source = find_source(std::string(entry.name));
    const bool here = is_cached(source);
    if (!arguments.json) {
      fmt::print("{:<46} {:<9} {:<7} {}\n", entry.name, entry.sha256().empty() ? "-" : entry.sha256().substr(0, 8),
                 here ? "yes" : "-", entry.fits);
      continue;
    }
    all.push_back({{"name", entry.name},
                   {"url", entry.url()},
                   {"sha256", entry.sha256()},
                   {"origin", entry.origin},
                   {"fits", entry.fits},
                   {"file", source.file.string()},
                   {"here", here}});
  }
  if (arguments.json) fmt::print("{}\n", json_text(all, 2));
}

// The tensors of a file as a model would be given them, and whose they are.
void inspect(const PretrainedArguments& arguments) {
  const auto [source, part] = split_part(arguments.file);
  const LoadedFile file = read_weights(find_weights(source));
  const StateDict state = find_state_dict(file, part);
  const std::string family = map_keys(state.tensors, {}).family;
  nlohmann::json tensors = nlohmann::json::object();
  int64_t numbers = 0;
  for (const auto& [name, tensor] : state.tensors) {
    numbers += tensor.numel();
    if (!arguments.json)
      fmt::print("{:<60} {:<10} {}\n", printable(name), c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), " x "));
    tensors[name] = {{"type", c10::toString(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}};
  }
  const std::string place = state.place.empty() ? "its top" : state.place;
  if (arguments.json) {
    fmt::print("{}\n", json_text({{"format", file.format},
                                  {"layout", family},
                                  {"place", state.place},
                                  {"others", state.others},
                                  {"tensors", tensors}},
                                 2));
    return;
  }
  for (const auto& [key, global] : file.opaque)
    fmt::print("{:<60} not read: an object of {}\n", printable(key), printable(global));
  fmt::print("{}: {}, layout {}, {} tensors at {} with {} numbers\n", printable(file.name), file.format, family,
             state.tensors.size(), printable(place), numbers);
  for (const std::string& other : state.others)
    fmt::print("weights at {} too: {}#{}\n", printable(other), arguments.file, printable(other));
}

}  // namespace

void add_pretrained(CLI::App& models) {
  auto arguments = std::make_shared<PretrainedArguments>();
  CLI::App* listing = models.add_subcommand("pretrained", "public weights by name, for model.pretrained");
  listing->add_flag("--json", arguments->json, "print as JSON, with URLs and files");
  listing->callback([=] { list_pretrained(*arguments); });

  CLI::App* fetch = models.add_subcommand("fetch", "download weights to the cache and print where they are");
  fetch
      ->add_option("source", arguments->sources,
                   "names of `models pretrained`, or URLs (with #sha256= and its 64 digits to check)")
      ->required();
  fetch->footer("The cache is $TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera.");
  fetch->callback([=] {
    for (const std::string& source : arguments->sources) fmt::print("{}\n", fetch_weights(find_source(source)).string());
  });

  CLI::App* look =
      models.add_subcommand("inspect", "the tensors of a weight file and whose layout it has; nothing in it is executed");
  look->add_option("file", arguments->file, "a .pth, .safetensors or .npz file, a name of `models pretrained`, or a URL")
      ->required();
  look->add_flag("--json", arguments->json, "print as JSON");
  look->callback([=] { inspect(*arguments); });
}

}  // namespace tessera
