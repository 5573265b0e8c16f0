#define TESSERA_CUDA_ON_CPU
#include "cuda/dropout_mask.cu"
#include "cuda/gradient_norm.cu"
#include "cuda/label_counts.cu"
#include "cuda/normalize_pixels.cu"
#include "cuda/optimizer_step.cu"
#include "cuda/upsample_argmax.cu"
#include "cuda/upsample_loss.cu"
