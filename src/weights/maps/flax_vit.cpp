// Google's ViT weights as Flax writes them (.npz), also those of vit-keras. Kernels are stored input first and attention by
// head: (D, heads, D / heads) for query, key and value, (heads, D / heads, D) for the output.
#include <ATen/ops/cat.h>

#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {
namespace {

class FlaxReader {
 public:
  explicit FlaxReader(const NamedTensors& file) : file_(file) {}

  const at::Tensor& get(const std::string& key) const {
    const at::Tensor* found = find_tensor(file_, key);
    TSR_CHECK(found != nullptr, "these are Flax ViT weights without '{}'", key);
    return *found;
  }
  const at::Tensor* find(const std::string& key) const { return find_tensor(file_, key); }

  // A dense layer's kernel as torch's weight (out, in); the first `inputs` axes are its input.
  at::Tensor weight(const std::string& key, int64_t inputs = 1) const {
    const at::Tensor& kernel = get(key + "/kernel");
    TSR_CHECK(kernel.dim() > inputs, "Flax weights: '{}/kernel' has {} axes, more than {} expected", key, kernel.dim(), inputs);
    return kernel.flatten(0, inputs - 1).flatten(1).t();
  }
  at::Tensor bias(const std::string& key) const { return get(key + "/bias").flatten(); }

  void norm(const std::string& key, const std::string& ours, NamedTensors& out) const {
    out.emplace_back(ours + ".weight", get(key + "/scale"));
    out.emplace_back(ours + ".bias", get(key + "/bias"));
  }

 private:
  const NamedTensors& file_;
};

void translate_block(const FlaxReader& file, const std::string& theirs, const std::string& ours, NamedTensors& out) {
  const std::string attention = theirs + "MultiHeadDotProductAttention_1/", mlp = theirs + "MlpBlock_3/";
  const std::string query = attention + "query", key = attention + "key", value = attention + "value";
  file.norm(theirs + "LayerNorm_0", ours + "norm1", out);
  out.emplace_back(ours + "attn.qkv.weight", at::cat({file.weight(query), file.weight(key), file.weight(value)}));
  out.emplace_back(ours + "attn.qkv.bias", at::cat({file.bias(query), file.bias(key), file.bias(value)}));
  out.emplace_back(ours + "attn.proj.weight", file.weight(attention + "out", 2));
  out.emplace_back(ours + "attn.proj.bias", file.bias(attention + "out"));
  file.norm(theirs + "LayerNorm_2", ours + "norm2", out);
  for (const char* layer : {"0", "1"}) {
    const std::string fc = ours + (*layer == '0' ? "mlp.fc1" : "mlp.fc2");
    out.emplace_back(fc + ".weight", file.weight(mlp + "Dense_" + layer));
    out.emplace_back(fc + ".bias", file.bias(mlp + "Dense_" + layer));
  }
}

NamedTensors translate(const NamedTensors& tensors, std::vector<std::string>& dropped) {
  const FlaxReader file(tensors);
  NamedTensors out;
  out.emplace_back("cls_token", file.get("cls"));
  out.emplace_back("pos_embed", file.get("Transformer/posembed_input/pos_embedding"));
  TSR_CHECK(file.get("embedding/kernel").dim() == 4, "Flax weights: embedding/kernel should be (P, P, 3, D)");
  out.emplace_back("patch_embed.proj.weight", file.get("embedding/kernel").permute({3, 2, 0, 1}));
  out.emplace_back("patch_embed.proj.bias", file.get("embedding/bias"));
  for (int i = 0;; ++i) {
    const std::string theirs = "Transformer/encoderblock_" + std::to_string(i) + "/";
    if (file.find(theirs + "LayerNorm_0/scale") == nullptr) break;
    translate_block(file, theirs, "blocks." + std::to_string(i) + ".", out);
  }
  file.norm("Transformer/encoder_norm", "norm", out);
  without(tensors, {"head/", "pre_logits/"}, dropped).clear();
  return out;
}

}  // namespace

KeyFamily flax_vit() {
  return {"Flax ViT", true, [](const KeySet& keys) { return keys.contains("embedding/kernel") && keys.contains("cls"); },
          translate};
}

}  // namespace tessera
