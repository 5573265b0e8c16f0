#include "study/search/symmetric_eigen.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.h"

namespace tessera {
namespace {

TEST(SymmetricEigen, OfTwoByTwo) {
  SquareMatrix matrix(2);
  matrix(0, 0) = matrix(1, 1) = 2;
  matrix(0, 1) = matrix(1, 0) = 1;
  std::vector<double> values = symmetric_eigen(matrix).values;
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(values[0], 1, 1e-15);
  EXPECT_NEAR(values[1], 3, 1e-15);
}

TEST(SymmetricEigen, GivesTheMatrixBack) {
  for (const size_t n : {1, 2, 3, 7, 20}) {
    Rng rng(n, Stream::kStudy);
    SquareMatrix matrix(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) matrix(i, j) = matrix(j, i) = rng.normal() * (i == 0 ? 1e6 : 1);
    }
    const SymmetricEigen eigen = symmetric_eigen(matrix);
    const SquareMatrix again = eigen.with_values(eigen.values);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) EXPECT_NEAR(again(i, j), matrix(i, j), 1e-8) << n;
    }
  }
}

}  // namespace
}  // namespace tessera
