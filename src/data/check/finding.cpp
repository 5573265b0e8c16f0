#include "data/check/finding.h"

#include <algorithm>
#include <array>

#include "data/check/checks.h"

namespace tessera {
namespace {

using FindFaults = void (*)(const CheckInput& input, std::vector<Finding>& findings);
constexpr std::array<FindFaults, 5> kChecks = {check_usable, check_samples, check_odd_ones, check_duplicates, check_classes};

// A kind that follows from another: told of a sample only where the other is not.
struct Consequence {
  FindingKind kind, cause;
};
constexpr std::array kConsequences = std::to_array<Consequence>(
    {{FindingKind::kBackgroundOnly, FindingKind::kBinaryMask}, {FindingKind::kConstantMask, FindingKind::kBinaryMask}});

void leave_out_consequences(std::vector<Finding>& findings) {
  for (const Consequence& known : kConsequences) {
    for (const Finding& cause : findings) {
      if (cause.kind != known.cause) continue;
      for (Finding& finding : findings) {
        if (finding.kind != known.kind || finding.split != cause.split) continue;
        std::erase_if(finding.samples, [&](const FoundSample& sample) {
          return cause.samples.empty() || std::any_of(cause.samples.begin(), cause.samples.end(),
                                                      [&](const FoundSample& one) { return one.index == sample.index; });
        });
      }
    }
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.samples.empty() && finding.text.empty(); });
}

}  // namespace

std::vector<Finding> find_faults(const CheckInput& input) {
  std::vector<Finding> findings;
  for (const FindFaults check : kChecks) check(input, findings);
  leave_out_consequences(findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return std::pair(a.split, a.kind) < std::pair(b.split, b.kind); });
  return findings;
}

}  // namespace tessera
