#include "report/report_timeline.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

constexpr size_t kMaxEntries = 200;

// Events that read as one.
struct Group {
  const RunEvent* first;
  const RunEvent* last;
  int count = 1;
};

std::string field_text(const RunEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

bool reads_as_one(const RunEvent& a, const RunEvent& b) {
  if (a.type != b.type || a.superseded != b.superseded) return false;
  return a.type == "checkpoint" || (a.type == "warning" && field_text(a, "text") == field_text(b, "text"));
}

std::vector<Group> grouped(const std::vector<RunEvent>& events) {
  std::vector<Group> groups;
  for (const RunEvent& event : events) {
    if (!groups.empty() && reads_as_one(*groups.back().last, event)) {
      groups.back().last = &event;
      ++groups.back().count;
    } else {
      groups.push_back({&event, &event});
    }
  }
  return groups;
}

std::string steps_text(const Group& group) {
  if (group.first->step < 0) return "";
  const std::string first = count_text(group.first->step);
  return group.first->step == group.last->step ? "step " + first
                                               : fmt::format("steps {} to {}", first, count_text(group.last->step));
}

std::string what_text(const Group& group) {
  const RunEvent& event = *group.first;
  if (event.type == "start") return "Started";
  if (event.type == "resume") return "Resumed";
  if (event.type == "checkpoint") return group.count == 1 ? "Checkpoint" : fmt::format("{} checkpoints", group.count);
  if (event.type == "warning") {
    const std::string text = field_text(event, "text");
    return group.count == 1 ? text : fmt::format("{} ({} times)", text, group.count);
  }
  if (event.type == "guard") return field_text(event, "text");
  if (event.type == "end") {
    const std::string error = field_text(event, "error");
    return "Ended: " + field_text(event, "status") + (error.empty() ? "" : ". " + error);
  }
  return event.type;
}

}  // namespace

std::string timeline_list(const RunHistory& history) {
  const auto groups = grouped(history.events);
  if (groups.empty()) return "";
  std::string items;
  // The newest entries matter most when there are too many.
  const size_t skipped = groups.size() > kMaxEntries ? groups.size() - kMaxEntries : 0;
  if (skipped > 0)
    items +=
        fmt::format("<li class=\"quiet\">{} earlier entries are in log.jsonl</li>", count_text(static_cast<int64_t>(skipped)));
  for (size_t i = skipped; i < groups.size(); ++i) {
    const Group& group = groups[i];
    items +=
        fmt::format("<li class=\"{}{}\"><time>{}</time><span>{}</span><span class=\"quiet\">{}{}</span></li>",
                    escape_html(group.first->type), group.first->superseded ? " superseded" : "", time_text(group.first->time),
                    escape_html(what_text(group)), steps_text(group), group.first->superseded ? ", done again later" : "");
  }
  return "<ol class=\"card timeline\">" + items + "</ol>";
}

}  // namespace tessera
