#define TESSERA_CUDA_ON_CPU
#include "cuda/dropout_mask.cu"
#include "cuda/label_counts.cu"
#include "cuda/upsample_argmax.cu"
#include "cuda/upsample_loss.cu"
