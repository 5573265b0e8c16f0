#define TESSERA_CUDA_ON_CPU
#include "cuda/dropout_mask.cu"
