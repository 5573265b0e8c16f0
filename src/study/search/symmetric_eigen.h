#pragma once
#include <cstddef>
#include <vector>

namespace tessera {

// A square matrix of a few rows, row after row.
class SquareMatrix {
 public:
  explicit SquareMatrix(size_t size = 0) : size_(size), values_(size * size) {}
  static SquareMatrix identity(size_t size);

  size_t size() const { return size_; }
  double& operator()(size_t row, size_t column) { return values_[row * size_ + column]; }
  double operator()(size_t row, size_t column) const { return values_[row * size_ + column]; }
  std::vector<double> operator*(const std::vector<double>& vector) const;

 private:
  size_t size_;
  std::vector<double> values_;
};

struct SymmetricEigen {
  std::vector<double> values;
  SquareMatrix vectors;  // a column each

  // The matrix with the same vectors whose values are `changed`.
  SquareMatrix with_values(const std::vector<double>& changed) const;
};

// Jacobi's method: slow for large matrices, exact to rounding, and the same bits everywhere for those of a few rows.
SymmetricEigen symmetric_eigen(SquareMatrix matrix);

}  // namespace tessera
