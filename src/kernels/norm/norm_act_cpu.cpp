#include "kernels/norm/norm_act_cpu.h"

#include <ATen/ATen.h>

#include "kernels/norm/norm_slabs.h"
#include "kernels/norm/norm_tables.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

template <class Call>
auto with_compute_type(const at::Tensor& x, Call&& call) {
  return x.scalar_type() == at::kDouble ? call(double{}) : call(float{});
}

// x in a layout whose values lie side by side.
at::Tensor dense(const at::Tensor& x) {
  return x.is_contiguous() ? x : x.contiguous(at::MemoryFormat::ChannelsLast);
}

// The pair of numbers that tiles leave for each slab and channel.
struct Partials {
  Partials(size_t slabs, int64_t channels)
      : values(at::empty({2, static_cast<int64_t>(slabs), channels}, at::kDouble)),
        first(values.mutable_data_ptr<double>()),
        second(first + static_cast<int64_t>(slabs) * channels) {}
  at::Tensor values;
  double *first, *second;
};

// Calls work(slab number, slab, begin, end) for the slabs in order, by threads that have channels [begin, end) each.
template <class T>
void for_each_slab(const NormSlabs<T>& slabs, const std::function<void(int64_t, int64_t, int64_t, int64_t)>& work) {
  const auto count = static_cast<int64_t>(slabs.slabs().size());
  parallel_for(0, slabs.channels(), std::max<int64_t>(16, 65536 / count), [&](int64_t begin, int64_t end) {
    for (int64_t s = 0; s < count; ++s) work(s, slabs.slabs()[static_cast<size_t>(s)].group, begin, end);
  });
}

// Makes one update per group, in order; the variance is taken without bias, as in torch.
template <class T>
void update_running(const NormSlabs<T>& slabs, const at::Tensor& moments, const at::Tensor& running_mean,
                    const at::Tensor& running_var, double momentum) {
  const NormPairs pairs(moments);
  T *mean = running_mean.mutable_data_ptr<T>(), *var = running_var.mutable_data_ptr<T>();
  for (int64_t g = 0; g < slabs.groups(); ++g) {
    const double unbiased = slabs.count(g) / (slabs.count(g) - 1);
    for (int64_t c = 0; c < slabs.channels(); ++c) {
      mean[c] = static_cast<T>((1 - momentum) * static_cast<double>(mean[c]) + momentum * pairs.first(g, c));
      var[c] = static_cast<T>((1 - momentum) * static_cast<double>(var[c]) + momentum * unbiased * pairs.second(g, c));
    }
  }
}

template <class T>
at::Tensor moments_of(const at::Tensor& x, const NormSlabs<T>& slabs) {
  const int64_t channels = slabs.channels();
  const Partials partials(slabs.slabs().size(), channels);
  slabs.for_each([&](auto& place) {
    place.tile.x = place.at(x);
    place.tile.first = partials.first + place.slot;
    place.tile.second = partials.second + place.slot;
    norm_loops<T>().moments(place.tile);
  });
  const at::Tensor result = at::zeros({slabs.groups(), 2, channels}, at::kDouble);
  auto* const moments = result.mutable_data_ptr<double>();
  const auto fraction = [&](int64_t slab, int64_t group) {
    return static_cast<double>(slabs.slabs()[static_cast<size_t>(slab)].rows) / slabs.count(group);
  };
  for_each_slab<T>(slabs, [&](int64_t slab, int64_t group, int64_t begin, int64_t end) {
    double* const mean = moments + 2 * group * channels;
    const double *from = partials.first + slab * channels, weight = fraction(slab, group);
    for (int64_t c = begin; c < end; ++c) mean[c] += weight * from[c];
  });
  for_each_slab<T>(slabs, [&](int64_t slab, int64_t group, int64_t begin, int64_t end) {
    double *const mean = moments + 2 * group * channels, *const var = mean + channels;
    const double *means = partials.first + slab * channels, *deviations = partials.second + slab * channels;
    const double weight = fraction(slab, group), inverse = 1 / slabs.count(group);
    for (int64_t c = begin; c < end; ++c) {
      const double d = means[c] - mean[c];
      var[c] += deviations[c] * inverse + weight * d * d;
    }
  });
  return result;
}

// Makes the group's means and the gradients of weight and bias out of the sums that tiles left.
template <class T>
void finish_sums(const NormSlabs<T>& slabs, const Partials& partials, const at::Tensor& moments, double eps,
                 const at::Tensor& means, const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  const int64_t channels = slabs.channels();
  auto* const to = means.mutable_data_ptr<double>();
  for_each_slab<T>(slabs, [&](int64_t slab, int64_t group, int64_t begin, int64_t end) {
    double *const first = to + 2 * group * channels, *const second = first + channels;
    for (int64_t c = begin; c < end; ++c) {
      first[c] += partials.first[slab * channels + c];
      second[c] += partials.second[slab * channels + c];
    }
  });
  const NormPairs pairs(moments);
  auto *of_weight = grad_weight.mutable_data_ptr<double>(), *of_bias = grad_bias.mutable_data_ptr<double>();
  for (int64_t g = 0; g < slabs.groups(); ++g) {
    for (int64_t c = 0; c < channels; ++c) {
      const SplitMean<T> split(pairs.first(g, c), pairs.second(g, c), eps);
      double &sum = to[2 * g * channels + c], &dot = to[(2 * g + 1) * channels + c];
      dot = (dot - split.rest * sum) * split.inverse;
      of_bias[c] += sum;
      of_weight[c] += dot;
      sum /= slabs.count(g);
      dot /= slabs.count(g);
    }
  }
}

}  // namespace

at::Tensor norm_moments_cpu(const at::Tensor& given, at::IntArrayRef ends, const std::optional<at::Tensor>& running_mean,
                            const std::optional<at::Tensor>& running_var, double momentum) {
  const at::Tensor x = dense(given);
  return with_compute_type(x, [&](auto zero) {
    using T = decltype(zero);
    const NormSlabs<T> slabs(x, ends);
    const at::Tensor moments = moments_of<T>(x, slabs);
    if (running_mean) update_running<T>(slabs, moments, *running_mean, *running_var, momentum);
    return moments;
  });
}

at::Tensor norm_act_cpu(const at::Tensor& given, const std::optional<at::Tensor>& residual, const at::Tensor& moments,
                        const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu) {
  const at::Tensor x = dense(given), y = at::empty_like(x);
  with_compute_type(x, [&](auto zero) {
    using T = decltype(zero);
    const NormSlabs<T> slabs(x, ends);
    const NormTables<T> tables(slabs, moments, weight, bias, std::nullopt, eps);
    const at::Tensor added = residual ? slabs.alike(*residual) : at::Tensor();
    slabs.for_each([&](auto& place) {
      tables.fill(place);
      place.tile.x = place.at(x);
      place.tile.residual = added.defined() ? place.at(added) : nullptr;
      place.tile.out = place.at_mutable(y);
      place.tile.relu = relu;
      norm_loops<T>().apply(place.tile);
    });
  });
  return y;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_act_sums_cpu(
    const at::Tensor& given_grad, const at::Tensor& given, const std::optional<at::Tensor>& given_y, const at::Tensor& moments,
    const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu) {
  const at::Tensor x = dense(given), gated = given_y ? at::empty_like(x) : at::empty({0}, x.options());
  const at::Tensor means = at::zeros({moments.size(0), 2, x.size(1)}, at::kDouble);
  const at::Tensor grad_weight = at::zeros({x.size(1)}, at::kDouble), grad_bias = at::zeros_like(grad_weight);
  with_compute_type(x, [&](auto zero) {
    using T = decltype(zero);
    const NormSlabs<T> slabs(x, ends);
    const NormTables<T> tables(slabs, moments, weight, bias, std::nullopt, eps);
    const at::Tensor grad_out = slabs.alike(given_grad), y = given_y ? slabs.alike(*given_y) : at::Tensor();
    const Partials partials(slabs.slabs().size(), slabs.channels());
    slabs.for_each([&](auto& place) {
      tables.fill(place);
      place.tile.x = place.at(x);
      place.tile.grad_out = place.at(grad_out);
      place.tile.y = given_y ? place.at(y) : nullptr;
      place.tile.out = given_y ? place.at_mutable(gated) : nullptr;
      place.tile.relu = relu;
      place.tile.first = partials.first + place.slot;
      place.tile.second = partials.second + place.slot;
      norm_loops<T>().sums(place.tile);
    });
    finish_sums<T>(slabs, partials, moments, eps, means, grad_weight, grad_bias);
  });
  return {means, grad_weight.to(weight.scalar_type()), grad_bias.to(weight.scalar_type()), gated};
}

at::Tensor norm_act_backward_cpu(const at::Tensor& given_grad, const at::Tensor& given, const at::Tensor& moments,
                                 const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                 at::IntArrayRef ends, double eps, bool relu) {
  const at::Tensor x = dense(given), grad_x = at::empty_like(x);
  with_compute_type(x, [&](auto zero) {
    using T = decltype(zero);
    const NormSlabs<T> slabs(x, ends);
    const NormTables<T> tables(slabs, moments, weight, bias, means, eps);
    const at::Tensor grad_out = slabs.alike(given_grad);
    slabs.for_each([&](auto& place) {
      tables.fill(place);
      place.tile.x = place.at(x);
      place.tile.grad_out = place.at(grad_out);
      place.tile.out = place.at_mutable(grad_x);
      place.tile.relu = relu;
      norm_loops<T>().backward(place.tile);
    });
  });
  return grad_x;
}

}  // namespace tessera
