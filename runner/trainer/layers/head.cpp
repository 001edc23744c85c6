#include "layers/head.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <stdexcept>

#include "engine/precision/precision.h"
#include "kernels/cross_entropy.h"
#include "kernels/custom_function.h"
#include "kernels/linear.h"

namespace exprun {
namespace {

struct HeadForm {
  int64_t vocab_size;
  double softcap;
  at::ScalarType compute;
  std::optional<double> promised;  // gradient of the loss

  double gradient() const { return promised.value_or(1); }
};

// Logits become their gradient, for whose small values fp16 has no numbers; bf16 has.
at::ScalarType format_of_logits(const HeadForm& form) {
  return form.softcap > 0 || form.compute == at::kHalf ? at::kFloat : form.compute;
}

// Rows of logits at once, in chunks of about one size: at most 64 MiB of them, whatever the batch,
// or of a small weight as many as it has elements, since it is read once for each; 2^27 logits on a
// GPU, which small products would leave idle.
int64_t chunk_rows(int64_t rows, const at::Tensor& weight, at::DeviceType device,
                   const HeadForm& form) {
  const auto size = static_cast<int64_t>(c10::elementSize(format_of_logits(form)));
  const int64_t of_weight = std::max(weight.numel(), int64_t{1} << 21);
  const int64_t elements =
      device == at::kCPU ? std::min((int64_t{1} << 26) / size, of_weight) : int64_t{1} << 27;
  const int64_t most = std::max<int64_t>(64, elements / weight.size(0) / 64 * 64);
  const int64_t chunks = std::max<int64_t>(1, (rows + most - 1) / most);
  const int64_t each = (rows + chunks - 1) / chunks;
  return (each + 63) / 64 * 64;
}

// Whether there will be a backward, and one to the weight: it takes a third of the work.
struct Wanted {
  bool gradients;
  bool of_weight;
};

struct LossAndGradients {
  at::Tensor loss;  // 0-dim fp64
  at::Tensor of_hidden;
  at::Tensor of_weight;  // added to what is there, if anything
};

at::Tensor capped(const at::Tensor& logits, double softcap) {
  return softcap > 0 ? logits.div(softcap).tanh().mul(softcap) : logits;
}

// The loss of a chunk; its logits, capped or not, become the gradient before the cap.
at::Tensor chunk_loss(at::Tensor& logits, const at::Tensor& targets, const HeadForm& form) {
  if (form.softcap == 0)
    return cross_entropy_in_place(logits, targets, form.vocab_size, form.gradient());
  const auto cap = logits.div_(form.softcap).tanh_().clone();
  logits.mul_(form.softcap);
  const auto loss = cross_entropy_in_place(logits, targets, form.vocab_size, 1);
  logits.mul_(cap.square().neg_().add_(1));
  if (form.gradient() != 1) logits.mul_(form.gradient());
  return loss;
}

// Summed over the chunks in fp32, where it lies: it is as large as the weight. On a CPU by parts of
// the vocabulary, since a product and its transposed factor are fastest in a cache.
void add_weight_gradient(at::Tensor& sum, const at::Tensor& of_logits, const at::Tensor& hidden) {
  constexpr int64_t kPart = 512;
  const int64_t rows = of_logits.size(1), part = hidden.is_cpu() ? kPart : rows;
  const bool is_first = !sum.defined();
  if (!hidden.is_cpu() && of_logits.scalar_type() == at::kFloat) {
    if (is_first)
      sum = linear_weight_gradient(of_logits, hidden);
    else
      sum.addmm_(of_logits.t(), hidden);
    return;
  }
  if (is_first) sum = at::empty({rows, hidden.size(1)}, hidden.options().dtype(at::kFloat));
  for (int64_t begin = 0; begin < rows; begin += part) {
    const int64_t count = std::min(part, rows - begin);
    const auto of_part = of_logits.narrow(1, begin, count).contiguous();
    const auto product = linear_weight_gradient(of_part, hidden);
    auto sum_of_part = sum.narrow(0, begin, count);
    if (is_first)
      sum_of_part.copy_(product);
    else
      sum_of_part.add_(product);
  }
}

// `weight` in the format to compute in; its gradient is added to `of_weight` where that is defined.
LossAndGradients compute(const at::Tensor& hidden, const at::Tensor& weight,
                         const at::Tensor& of_weight, const at::Tensor& targets,
                         const HeadForm& form, Wanted wanted) {
  LossAndGradients result{at::zeros({}, hidden.options().dtype(at::kDouble)), {}, of_weight};
  const int64_t rows = hidden.size(0),
                step = chunk_rows(rows, weight, weight.device().type(), form);
  if (wanted.gradients && rows > step) result.of_hidden = at::empty_like(hidden);
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    const auto part = hidden.narrow(0, begin, count);
    auto logits = linear_forward(part, weight, {}).to(format_of_logits(form));
    result.loss.add_(chunk_loss(logits, targets.narrow(0, begin, count), form));
    if (!wanted.gradients) continue;
    const auto of_logits = logits.to(weight.scalar_type());
    auto of_part = linear_input_gradient(of_logits, weight);
    if (rows > step)
      result.of_hidden.narrow(0, begin, count).copy_(of_part);
    else
      result.of_hidden = of_part;
    if (wanted.of_weight) add_weight_gradient(result.of_weight, of_logits, part);
  }
  return result;
}

// Where the weight's gradient can be added as soon as it is known, the one that it has.
at::Tensor added_at_once(const at::Tensor& weight, const HeadForm& form) {
  const at::Tensor& gradient = weight.grad();
  const bool can_be = form.promised && weight.is_cpu() && gradient.defined();
  return can_be && gradient.scalar_type() == at::kFloat ? gradient : at::Tensor();
}

void require_promised(const at::Tensor& gradient, double promised) {
  const auto single = static_cast<float>(promised);
  if (gradient.is_cpu() && gradient.item<float>() != single)
    throw std::logic_error("head: backward gives another gradient than was promised");
}

// Without a promise backward scales the gradients where they lie (a second backward is told so by
// their version).
Differentiable head_loss(const at::Tensor& hidden, const at::Tensor& weight,
                         const at::Tensor& targets, const HeadForm& form, Wanted wanted) {
  const at::Tensor known = wanted.of_weight ? added_at_once(weight, form) : at::Tensor();
  auto result = compute(hidden.contiguous(), cast_weight(weight, form.compute), known,
                        targets.contiguous(), form, wanted);
  auto loss = result.loss.to(at::kFloat);
  if (!wanted.gradients) return {loss, {}, {}};
  Tensors kept{result.of_hidden};
  if (wanted.of_weight && !known.defined())
    kept.push_back(result.of_weight.to(weight.scalar_type()));
  return {loss, std::move(kept), [promised = form.promised](const Backward& given) -> Tensors {
            Tensors result = given.kept;
            if (promised)
              require_promised(given.gradient, *promised);
            else
              for (at::Tensor& gradient : result) gradient.mul_(given.gradient);
            result.resize(2);
            return result;
          }};
}

}  // namespace

at::Tensor Head::logits(const at::Tensor& hidden) const {
  const auto all = exprun::linear(hidden.to(compute), weight).narrow(-1, 0, vocab_size);
  return capped(all.to(at::kFloat), softcap);
}

double Head::loss_bytes(int64_t rows, at::DeviceType device) const {
  const HeadForm form{vocab_size, softcap, compute, {}};
  const int64_t at_once = std::min(rows, chunk_rows(rows, weight, device, form));
  const auto size = static_cast<double>(c10::elementSize(format_of_logits(form)));
  const int copies = softcap > 0 ? 3 : 1;  // the cap, and its square
  const double of_logits = size * copies * static_cast<double>(at_once * weight.size(0));
  // In training: added_at_once() has a gradient and a promise then.
  const bool is_added = device == at::kCPU && weight.scalar_type() == at::kFloat;
  return of_logits + (weight.requires_grad() && !is_added
                          ? sizeof(float) * static_cast<double>(weight.numel())
                          : 0);
}

at::Tensor Head::loss_sum(const at::Tensor& hidden, const at::Tensor& targets,
                          std::optional<double> promised) const {
  const auto x = hidden.to(compute);
  const bool is_recorded = at::GradMode::is_enabled();
  const Wanted wanted{is_recorded, is_recorded && weight.requires_grad()};
  return with_custom_gradient({x, weight}, [&] {
    return head_loss(x, weight, targets, {vocab_size, softcap, compute, promised}, wanted);
  });
}

}  // namespace exprun
