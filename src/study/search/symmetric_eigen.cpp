#include "study/search/symmetric_eigen.h"

#include <cmath>

namespace tessera {
namespace {

double sum_off_diagonal(const SquareMatrix& matrix) {
  double sum = 0;
  for (size_t i = 0; i < matrix.size(); ++i) {
    for (size_t j = 0; j < i; ++j) sum += std::abs(matrix(i, j));
  }
  return sum;
}

// Turns the plane of p and q so that (p, q) becomes 0.
void rotate(SquareMatrix& matrix, SquareMatrix& vectors, size_t p, size_t q) {
  const double theta = (matrix(q, q) - matrix(p, p)) / (2 * matrix(p, q));
  const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0));
  const double c = 1 / std::hypot(t, 1.0), s = t * c;
  const auto turn = [&](double& a, double& b) {
    const double old = a;
    a = c * old - s * b;
    b = s * old + c * b;
  };
  const size_t n = matrix.size();
  for (size_t i = 0; i < n; ++i) turn(matrix(i, p), matrix(i, q));
  for (size_t i = 0; i < n; ++i) turn(matrix(p, i), matrix(q, i));
  for (size_t i = 0; i < n; ++i) turn(vectors(i, p), vectors(i, q));
  matrix(p, q) = matrix(q, p) = 0;
}

}  // namespace

SquareMatrix SquareMatrix::identity(size_t size) {
  SquareMatrix matrix(size);
  for (size_t i = 0; i < size; ++i) matrix(i, i) = 1;
  return matrix;
}

std::vector<double> SquareMatrix::operator*(const std::vector<double>& vector) const {
  std::vector<double> product(size_);
  for (size_t i = 0; i < size_; ++i) {
    for (size_t j = 0; j < size_; ++j) product[i] += (*this)(i, j) * vector[j];
  }
  return product;
}

SquareMatrix SymmetricEigen::with_values(const std::vector<double>& changed) const {
  const size_t n = values.size();
  SquareMatrix matrix(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) matrix(i, j) += vectors(i, k) * changed[k] * vectors(j, k);
    }
  }
  return matrix;
}

SymmetricEigen symmetric_eigen(SquareMatrix matrix) {
  const size_t n = matrix.size();
  SquareMatrix vectors = SquareMatrix::identity(n);
  constexpr int kSweeps = 60;  // five or ten are usual
  for (int sweep = 0; sweep < kSweeps && sum_off_diagonal(matrix) > 0; ++sweep) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        // What is lost in the diagonal's rounding is 0.
        if (std::abs(matrix(p, q)) < 1e-17 * std::sqrt(std::abs(matrix(p, p) * matrix(q, q)))) {
          matrix(p, q) = matrix(q, p) = 0;
        } else if (matrix(p, q) != 0) {
          rotate(matrix, vectors, p, q);
        }
      }
    }
  }
  SymmetricEigen result{{}, vectors};
  for (size_t i = 0; i < n; ++i) result.values.push_back(matrix(i, i));
  return result;
}

}  // namespace tessera
