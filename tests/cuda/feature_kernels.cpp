#define TESSERA_CUDA_ON_CPU
#include "cuda/adaptive_pools.cu"
#include "cuda/max_pool.cu"
#include "cuda/resize_bilinear.cu"
