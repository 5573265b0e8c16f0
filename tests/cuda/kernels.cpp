#define TESSERA_CUDA_ON_CPU
#include "cuda/bias_gelu.cu"
#include "cuda/dropout_mask.cu"
#include "cuda/gradient_norm.cu"
#include "cuda/layer_norm.cu"
#include "cuda/normalize_pixels.cu"
#include "cuda/optimizer_step.cu"
