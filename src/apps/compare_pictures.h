#pragma once
#include <filesystem>
#include <vector>

#include "infer/model_comparison.h"
#include "report/html_report.h"

namespace tessera {

// The first `count` images of the comparison, predicted by every model and drawn side by side: image, label, predictions.
// `runs`: of the models, in their order; nothing is drawn where one has none. `last`: the newest checkpoint of each, not its
// best. Throws Error where weights or data are gone.
std::vector<ReportPicture> draw_differing_images(const ModelComparison& comparison,
                                                 const std::vector<std::filesystem::path>& runs, bool last, int count);

}  // namespace tessera
