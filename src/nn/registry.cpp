#include "nn/registry.h"

#include "nn/blocks/dropout.h"
#include "nn/model.h"
#include "nn/models/deeplabv3.h"
#include "nn/models/deeplabv3plus.h"
#include "nn/models/fcn.h"
#include "nn/models/pspnet.h"
#include "nn/models/segmenter.h"
#include "nn/models/unet.h"
#include "nn/models/unet_resnet.h"
#include "nn/models/upernet.h"
#include "nn/models/upernet_vit.h"

namespace tessera {
namespace {

using ModelFactory = ModelPtr (*)(const ModelConfig&, const ModelShape&);

const Registry<ModelFactory>& models() {
  static const Registry<ModelFactory> table{"model",
                                            {
                                                {"deeplabv3", make_deeplabv3},
                                                {"deeplabv3plus", make_deeplabv3plus},
                                                {"fcn", make_fcn},
                                                {"pspnet", make_pspnet},
                                                {"segmenter", make_segmenter},
                                                {"unet", make_unet},
                                                {"unet_resnet", make_unet_resnet},
                                                {"upernet", make_upernet},
                                                {"upernet_vit", make_upernet_vit},
                                            }};
  return table;
}

}  // namespace

ModelPtr make_model(const ModelConfig& config, const ModelShape& shape, uint64_t seed) {
  ModelPtr model = models().at(config.name)(config, shape);
  number_random_layers(*model);
  model->init(seed);
  return model;
}

std::vector<std::string> model_names() {
  return models().names();
}

}  // namespace tessera
