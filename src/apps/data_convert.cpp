#include "apps/data_convert.h"

#include <errno.h>

#include <algorithm>

#include "apps/command.h"
#include "apps/data_asked.h"
#include "apps/train_command.h"
#include "config/writer.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/plural.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "data/check/data_advice.h"
#include "data/convert/convert.h"
#include "data/convert/stored_sample.h"
#include "data/datasets/dataset_factory.h"
#include "storage/place_url.h"

namespace tessera {
namespace {

struct ConvertArguments {
  std::vector<std::string> words;
  std::string config, output, split = "all", shard_size = "64MB", hashes;
  ConvertOptions options;
  int workers = 0;
};

// What is converted, and where to.
struct Places {
  ConfigArguments source;
  fs::path to;
};

Places places_of(const ConvertArguments& arguments) {
  Places places;
  places.source.config = arguments.config;
  std::vector<std::string> plain;
  for (const std::string& word : arguments.words) (is_setting(word) ? places.source.words : plain).push_back(word);
  places.to = arguments.output;
  if (arguments.output.empty() && !plain.empty()) {
    places.to = plain.back();
    plain.pop_back();
  }
  TSR_CHECK_USAGE(!places.to.empty(), "where to? Expected SRC DST, or CONFIG -o DST");
  TSR_CHECK_USAGE(!is_url(places.to.string()),
                  "{} is a URL: a conversion goes on where it was stopped, which needs a folder here. Write to one and copy it",
                  places.to.string());
  TSR_CHECK_USAGE(plain.size() <= 1, "expected SRC DST or CONFIG key=value ... -o DST, got {} more words",
                  plain.size() - std::min<size_t>(plain.size(), 1));
  const auto& values = places.source.words;
  const bool says_what = std::any_of(values.begin(), values.end(), [](const std::string& value) {
    return value.starts_with("data.path=") || value.starts_with("data.train.") || value.starts_with("data.type=");
  });
  TSR_CHECK_USAGE(
      !plain.empty() || says_what || !arguments.config.empty(),
      "{} is where to write, and what is to be converted? Expected SRC DST, a folder or a config and where to write",
      places.to.string());
  places.source.words.insert(places.source.words.begin(), plain.begin(), plain.end());
  return places;
}

// "64MB": of 1024 bytes each, as mosaicml-streaming counts them.
uint64_t bytes_of(const std::string& text) {
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  std::string unit = lower(text.substr(end));
  if (unit.ends_with("b")) unit.pop_back();
  const std::vector<std::string> units = {"", "k", "m", "g", "t"};
  const auto found = std::find(units.begin(), units.end(), unit);
  TSR_CHECK_USAGE(end > 0 && found != units.end() && number > 0 && number < 1e6, "--shard-size {}: expected such as 64MB",
                  text);
  const double bytes = number * static_cast<double>(uint64_t{1} << (10 * (found - units.begin())));
  TSR_CHECK_USAGE(bytes >= 1024 && bytes <= static_cast<double>(uint64_t{1} << 40), "--shard-size {}: expected 1 KB to 1 TB",
                  text);
  return static_cast<uint64_t>(bytes);
}

// MDS has a quick one unless another is asked for: without any a damaged shard is read as if it were whole.
std::vector<std::string> hashes_of(const std::string& text, const std::string& format) {
  if (text.empty() && format == "mds") return {"xxh64"};
  if (text == "none") return {};
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// As the config says; of a folder without one as a look at its files says.
DataConfig data_of(const AskedData& asked, int threads) {
  if (asked.own_config || asked.experiment.data.type != SourceType::kPairs) return asked.experiment.data;
  const DataAdvice advice = advise_data(asked.experiment, asked.names_given, threads);
  TSR_CHECK(advice.labels.mistake.empty(), "{}", advice.labels.mistake);
  return advice.config;
}

std::vector<OpenSplit> open_splits(const DataConfig& data, const std::string& which) {
  std::vector<OpenSplit> open;
  const auto add = [&](Split split, const DatasetPtr& set) {
    if (set != nullptr && set->size() > 0) open.push_back({split, set});
  };
  if (which == "all" || which == "train") add(Split::kTrain, make_dataset(data, Split::kTrain));
  if (which == "all" || which == "val") add(Split::kVal, make_dataset(data, Split::kVal));
  if (which == "all" || which == "test") add(Split::kTest, make_test_set(data));
  TSR_CHECK(!open.empty(), "there are no samples to convert");
  return open;
}

// What is written must not become a part of what is read, least of all when a stopped conversion goes on.
void refuse_inside(const DataConfig& data, const fs::path& to) {
  for (const std::string& root : {data.path, data.train.path, data.val.path, data.test.path}) {
    if (root.empty() || root.find("://") != std::string::npos) continue;
    std::error_code error;
    const fs::path source = fs::weakly_canonical(root, error), target = fs::weakly_canonical(to, error);
    const auto [left, right] = std::mismatch(source.begin(), source.end(), target.begin(), target.end());
    TSR_CHECK_USAGE(left != source.end(), "{} lies in {}, which is read; write to another place", to.string(), root);
  }
}

// The keys of a config that would lead to the old files.
std::vector<std::string> keys_to_clear(const DataConfig& data) {
  std::vector<std::string> keys;
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    const SplitConfig& own = split_of(data, split);
    const std::pair<const char*, bool> texts[] = {{"path", !own.path.empty()},
                                                  {"images", !own.images.empty()},
                                                  {"masks", !own.masks.empty()},
                                                  {"list", !own.list.empty()}};
    for (const auto& [key, set] : texts) {
      if (set) keys.push_back(fmt::format("data.{}.{}=", name_of(split), key));
    }
  }
  return keys;
}

// What a folder of files cannot say of itself.
std::vector<std::string> folder_keys(const Dataset& dataset, const DataConfig& data) {
  std::vector<std::string> keys;
  DataConfig named;
  named.classes = dataset.classes().names;
  for (const SchemaLine& line : ConfigWriter::lines(named)) {
    if (line.key == "classes") keys.push_back("data.classes=" + line.value);
  }
  LabelConfig rules = stored_label_rules(dataset), untold;
  const std::vector<SchemaLine> lines = ConfigWriter::lines(rules), usual = ConfigWriter::lines(untold);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].value != usual[i].value || data.labels != rules)
      keys.push_back(fmt::format("data.labels.{}={}", lines[i].key, lines[i].value));
  }
  return keys;
}

void print_converted(const std::vector<ConvertedSplit>& converted, const std::string& format) {
  if (converted.empty()) {
    fmt::print("this was converted before, to the end: nothing to do\n");
    return;
  }
  for (const ConvertedSplit& split : converted) {
    const std::string kept = split.kept > 0 ? fmt::format(", {} of them from before", split.kept) : "";
    if (format == "folder") {
      fmt::print("{}: {} {}, {:.1f} MB\n", name_of(split.split), split.samples, plural(split.samples, "sample"),
                 static_cast<double>(split.bytes) / (1 << 20));
    } else {
      fmt::print("{}: {} {} in {} {}{}, {:.1f} MB\n", name_of(split.split), split.samples, plural(split.samples, "sample"),
                 split.shards, plural(split.shards, "shard"), kept, static_cast<double>(split.bytes) / (1 << 20));
    }
  }
  fmt::print("read back and compared: all is as it went in\n");
}

void convert_data(ConvertArguments arguments) {
  ConvertOptions& options = arguments.options;
  options.output.hashes = hashes_of(arguments.hashes, options.output.format);
  options.output.shard_bytes = bytes_of(arguments.shard_size);
  check_output(options.output);
  const Places places = places_of(arguments);
  const AskedData asked(places.source);
  options.workers = arguments.workers > 0 ? arguments.workers : loader_threads(asked.experiment.data.threads, 1);
  const DataConfig data = data_of(asked, options.workers);
  refuse_inside(data, places.to);
  const std::vector<OpenSplit> splits = open_splits(data, arguments.split);
  warn_of_left_out(splits);

  int64_t total = 0;
  for (const OpenSplit& split : splits) total += split.data->size();
  std::vector<ConvertedSplit> converted;
  {
    ProgressBar bar("convert", total);
    converted = convert(data, splits, places.to, options, [&](int64_t done) { bar.update(done); });
  }
  print_converted(converted, options.output.format);

  const bool folder = options.output.format == "folder";
  std::vector<std::string> added = keys_to_clear(data);
  added.push_back(fmt::format("data.type={}", folder ? "pairs" : options.output.format));
  added.push_back("data.path=" + places.to.string());
  if (folder) {
    for (std::string& key : folder_keys(*splits[0].data, asked.experiment.data)) added.push_back(std::move(key));
  } else if (!asked.own_config) {
    added.emplace_back("data.classes=[]");  // the card's
  }
  const std::string program = program_invocation_name;
  fmt::print("train with it:\n  {}\n",
             train_command(program.find('/') == std::string::npos ? "tessera" : program, asked.config, asked.overrides, added));
}

}  // namespace

void add_data_convert(CLI::App& data) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* sub = data.add_subcommand("convert", "write a data set as MDS, TFRecord or tar shards, or as a folder of files");
  OutputOptions& output = arguments->options.output;
  sub->add_option("words", arguments->words, "folder, URL or config, values to set, and where to write")
      ->option_text("SRC|CONFIG [key=value ...] DST");
  sub->add_option("-c,--config", arguments->config, "config, where it is not the first word")->option_text("CONFIG");
  sub->add_option("-o,--output", arguments->output, "where to write, where it is not the last word: a new folder");
  sub->add_option("--format", output.format, "mds (mosaicml-streaming), tfrecord, tar (WebDataset) or folder")
      ->capture_default_str();
  sub->add_option(
      "--compression", output.compression,
      "of whole shards: br, bz2, gz, snappy or zstd, with a level as zstd:3 (tfrecord, tar: gz); images hardly shrink");
  sub->add_option("--hash", arguments->hashes,
                  "mds: hashes of shards in the index, such as sha1,xxh64, or none; default: xxh64");
  sub->add_option("--shard-size", arguments->shard_size, "a shard ends before it would be larger, before compression")
      ->capture_default_str();
  sub->add_option("--split", arguments->split, "train, val, test or all")
      ->check(CLI::IsMember({"train", "val", "test", "all"}))
      ->capture_default_str();
  sub->add_option("--workers", arguments->workers, "threads; 0: as data.threads says")
      ->check(CLI::Range(0, static_cast<int>(kMaxThreads)))
      ->capture_default_str();
  sub->footer(
      "Images and masks are stored as their files are, what is drawn as PNG. A conversion that was stopped goes on where it "
      "was when the command is repeated; nothing else in DST is touched.");
  sub->callback([a = arguments] { convert_data(*a); });
}

}  // namespace tessera
