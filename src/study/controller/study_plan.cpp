#include "study/controller/study_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "config/reader.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/split.h"
#include "core/suggest.h"
#include "core/time_span.h"
#include "study/schedule/make_scheduler.h"
#include "study/search/enqueued_search.h"
#include "study/search/grid_search.h"
#include "study/search/make_searcher.h"
#include "study/space/check_space.h"
#include "study/space/read_space.h"
#include "study/space/space_json.h"

namespace tessera {
namespace {

// Sections with readers of their own, and what each is where the file leaves it out.
const std::vector<std::string>& sections() {
  static const std::vector<std::string> names = {"config", "set",       "space",    "points",
                                                 "search", "scheduler", "executor", "prices"};
  return names;
}

Node scalar_node(const std::string& text) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = text;
  node.origin = {"default", 0};
  return node;
}

// Takes a section out of the file.
std::optional<Node> take(Node& root, const std::string& name) {
  const auto found = std::find_if(root.map.begin(), root.map.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == root.map.end()) return std::nullopt;
  Node section = std::move(found->second);
  root.map.erase(found);
  if (section.kind == Node::Kind::kNull) return std::nullopt;
  return section;
}

void check_keys(const Node& root) {
  std::vector<std::string> known = sections();
  StudySettings settings;
  for (const SchemaLine& line : ConfigWriter::lines(settings)) {
    if (line.depth == 0) known.push_back(line.key);
  }
  for (const auto& [key, value] : root.map) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail_usage("{}: a study has no key '{}'{}; it has {}", value.origin.text(), printable(key), did_you_mean(key, known),
                 fmt::join(known, ", "));
  }
}

std::string text_of(const Node& scalar, const char* key) {
  if (scalar.kind != Node::Kind::kScalar) fail_usage("{}: {}: expected one word", scalar.origin.text(), key);
  return scalar.scalar;
}

std::vector<Assignment> read_points(const Node& section, const Space& space) {
  if (section.kind != Node::Kind::kList)
    fail_usage("{}: points: expected a list of points to try first: [{{optimizer.lr: 0.01}}]", section.origin.text());
  std::vector<Assignment> points;
  for (const Node& point : section.list) {
    if (point.kind != Node::Kind::kMap) fail_usage("{}: points: expected {{key: value, ...}}", point.origin.text());
    std::map<std::string, std::string> values;
    for (const auto& [name, value] : point.map) values[name] = text_of(value, name.c_str());
    points.push_back(parse_point(space, values));
  }
  return points;
}

// A file of the place where the study's lies, or a config by its name.
fs::path config_path(const std::string& given, const fs::path& study_file) {
  const fs::path beside = study_file.parent_path() / given;
  std::error_code error;
  return fs::exists(beside, error) ? beside : fs::path(given);
}

std::string config_text(const Node& config) {
  std::string text;
  for (const auto& [key, value] : config.map) {
    if (value.kind == Node::Kind::kMap && value.map.empty()) continue;
    text += key + ": " + flow_text(value) + "\n";
  }
  return text;
}

// A parameter a line.
std::string section_text(const std::string& name, const Node& section) {
  if (section.kind != Node::Kind::kMap) return name + ": " + flow_text(section) + "\n";
  std::string text = name + ":\n";
  for (const auto& [key, value] : section.map) text += "  " + key + ": " + flow_text(value) + "\n";
  return text;
}

// Where training ends, in the study's unit.
int64_t steps_of(const Duration& duration, StepUnit unit) {
  const bool same = duration.unit == (unit == StepUnit::kEpochs ? Duration::Unit::kEpochs : Duration::Unit::kBatches);
  return same ? static_cast<int64_t>(std::ceil(duration.value - 1e-9)) : 0;
}

double seconds_of_budget(const std::string& time) {
  try {
    return time.empty() ? 0 : parse_time_span(time);
  } catch (const Error& e) {
    fail_usage("budget.time: {}", e.what());
  }
}

void check_budget(StudyPlan& plan) {
  BudgetSettings& budget = plan.settings.budget;
  plan.time_s = seconds_of_budget(budget.time);
  TSR_CHECK_USAGE(budget.cost == 0 || plan.prices,
                  "budget.cost is {}, but not what an hour of a device costs: give --prices FILE, or in the study's file "
                  "prices: {{device_hour: {{cpu: 0.04}}}}",
                  budget.cost);
  const bool ends = budget.trials > 0 || plan.time_s > 0 || budget.cost > 0 || budget.patience > 0;
  TSR_CHECK_USAGE(ends || std::holds_alternative<GridSearchConfig>(plan.search),
                  "the study would never end: set budget.trials (--trials 20), budget.time, budget.cost or budget.patience");
}

void check_search_and_scheduler(const StudyPlan& plan) {
  SearchContext context{.space = plan.space, .seed = plan.settings.seed};
  context.directions.clear();
  for (const Objective& objective : plan.objectives) context.directions.push_back(objective.direction);
  make_searcher(plan.search, context);
  make_scheduler(plan.scheduler, {.direction = plan.objectives[0].direction,
                                  .seed = plan.settings.seed,
                                  .space = plan.space,
                                  .max_steps = plan.max_steps,
                                  .num_trials = plan.settings.budget.trials});
}

// The file itself, or one made of a config and what is to vary.
Node study_node(const StudyRequest& request) {
  Node root = load_config(request.file);
  if (root.kind == Node::Kind::kMap && root.find("space") != nullptr) {
    TSR_CHECK_USAGE(request.vary.empty(), "{} is a study's file with a space of its own; --vary is for a config",
                    printable(request.file.string()));
    return root;
  }
  TSR_CHECK_USAGE(
      !request.vary.empty(),
      "{} says nothing of what to vary; expected a study's file with a 'space:', or --vary optimizer.lr=log:1e-4:1e-1",
      printable(request.file.string()));
  Node study;
  study.kind = Node::Kind::kMap;
  study.map.emplace_back("config", scalar_node(request.file.string()));
  return study;
}

}  // namespace

Objective parse_objective(const std::string& text) {
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() == 1 && !words[0].empty()) return {words[0], Direction::kMaximize};
  const bool known = words.size() == 2 && !words[1].empty() && (words[0] == "maximize" || words[0] == "minimize");
  TSR_CHECK_USAGE(known, "objectives: '{}': expected a metric, or 'maximize METRIC' or 'minimize METRIC'", text);
  return {words[1], words[0] == "maximize" ? Direction::kMaximize : Direction::kMinimize};
}

StudyPlan read_study(const StudyRequest& request, const std::function<void(const Experiment&)>& also) {
  TSR_CHECK_USAGE(!request.file.empty(), "expected a study's file, or a config and --vary KEY=VALUES");
  Node root = study_node(request);
  for (const std::string& setting : request.settings) apply_override(root, setting);
  check_keys(root);
  std::map<std::string, std::optional<Node>> section;
  for (const std::string& name : sections()) section[name] = take(root, name);

  StudyPlan plan;
  if (!root.map.empty()) ConfigReader::read_struct(root, "", plan.settings);
  StudySettings& settings = plan.settings;
  if (settings.name.empty()) settings.name = request.file.stem().string();
  TSR_CHECK_USAGE(settings.name.find('/') == std::string::npos && settings.name != "..",
                  "name: '{}': expected a name without '/'", printable(settings.name));
  plan.folder = fs::absolute(settings.folder.empty() ? fs::path("studies") / settings.name : fs::path(settings.folder))
                    .lexically_normal();
  for (const std::string& text : settings.earlier) plan.earlier.push_back(fs::absolute(text).lexically_normal());
  for (const std::string& text : settings.objectives) plan.objectives.push_back(parse_objective(text));
  TSR_CHECK_USAGE(!plan.objectives.empty(), "objectives: expected at least one, as mean_iou");

  if (!request.vary.empty()) {
    parse_vary(request.vary);                       // complains of the flags as they were written
    section["space"] = vary_section(request.vary);  // and is read as the study's own file will be
  }
  plan.space = read_space(*section["space"], request.file.parent_path());
  plan.search = read_search(section["search"].value_or(scalar_node("random")));
  plan.scheduler = read_scheduler(section["scheduler"].value_or(scalar_node("none")));
  if (section["executor"]) plan.executor = read_executor(*section["executor"]);
  if (section["prices"]) {
    section["prices"] = prices_section(*section["prices"], request.file.parent_path());
    plan.prices = read_prices(*section["prices"]);
  }
  if (section["points"]) plan.points = read_points(*section["points"], plan.space);

  fs::path file;
  if (section["config"]) file = config_path(text_of(*section["config"], "config"), request.file);
  std::vector<std::string> overrides = section["set"] ? fragment_overrides(*section["set"]) : std::vector<std::string>{};
  overrides.insert(overrides.end(), request.overrides.begin(), request.overrides.end());
  const Node config = compose(file, overrides);
  plan.config_text = config_text(config);
  const Experiment experiment = read_experiment(config);
  check_space(plan.space, file, overrides, also);

  plan.device = experiment.train.device;
  const bool epochs = experiment.train.duration.unit == Duration::Unit::kEpochs;
  if (settings.unit == StepUnit::kAuto) settings.unit = epochs ? StepUnit::kEpochs : StepUnit::kSteps;
  plan.max_steps = steps_of(experiment.train.duration, settings.unit);
  check_budget(plan);
  check_search_and_scheduler(plan);

  nlohmann::json objectives = nlohmann::json::array();
  for (const Objective& o : plan.objectives)
    objectives.push_back((o.direction == Direction::kMaximize ? "maximize " : "minimize ") + o.metric);
  nlohmann::json earlier = nlohmann::json::array();
  for (const fs::path& study : plan.earlier) earlier.push_back(study.string());
  const auto written = [&](const char* name, const char* otherwise) {
    return section[name] ? flow_text(*section[name]) : std::string(otherwise);
  };
  plan.definition = {{"config", plan.config_text},
                     {"earlier", earlier},
                     {"objectives", objectives},
                     {"points", plan.points},
                     {"scheduler", written("scheduler", "none")},
                     {"search", written("search", "random")},
                     {"seed", settings.seed},
                     {"space", space_json(plan.space)},
                     {"unit", std::string(name_of(settings.unit))},
                     {"value", std::string(name_of(settings.value))}};
  plan.text = fmt::format("config: {}\n", kStudyConfig);
  for (const char* name : {"space", "points", "search", "scheduler", "executor", "prices"}) {
    if (section[name]) plan.text += section_text(name, *section[name]);
  }
  for (size_t i = 0; i < plan.earlier.size(); ++i) settings.earlier[i] = plan.earlier[i].string();
  plan.text += to_yaml(ConfigWriter::lines(settings));
  return plan;
}

}  // namespace tessera
