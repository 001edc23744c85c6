#include "kernels/attention/attention_aten.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>

namespace exprun {
namespace {

// What ATen chooses from while it lives. Who computes the gradient is chosen with the forward pass.
class ChoiceOfKernels {
 public:
  explicit ChoiceOfKernels(Shapes shapes) {
    if (shapes == Shapes::vary) at::globalContext().setSDPUseCuDNN(false);
  }
  ~ChoiceOfKernels() { at::globalContext().setSDPUseCuDNN(had_cudnn_); }
  ChoiceOfKernels(const ChoiceOfKernels&) = delete;
  ChoiceOfKernels& operator=(const ChoiceOfKernels&) = delete;

 private:
  bool had_cudnn_ = at::globalContext().userEnabledCuDNNSDP();
};

bool shares_keys(const at::Tensor& query, const at::Tensor& key) {  // (B, H, T, D)
  return query.size(1) != key.size(1);
}

// Whether ATen computes causal attention of these heads (B, H, T, D) by its flash kernel. It pads
// other widths than multiples of 8, which the kernel itself refuses.
bool takes_flash(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                 double dropout) {
  if (!query.is_cuda() || query.size(3) % 8 != 0) return false;
  const ChoiceOfKernels without_cudnn(Shapes::vary);
  const auto choice =
      at::_fused_sdp_choice(query, key, value, {}, dropout, /*is_causal=*/true,
                            /*scale=*/std::nullopt, /*enable_gqa=*/shares_keys(query, key));
  return choice == static_cast<int64_t>(at::SDPBackend::flash_attention);
}

}  // namespace

at::Tensor attention_aten(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const AttentionOptions& options) {
  const ChoiceOfKernels choice(options.shapes);
  const auto mixed = at::scaled_dot_product_attention(
      query, key, value, options.visible.defined() ? std::optional(options.visible) : std::nullopt,
      options.dropout, options.is_causal, /*scale=*/std::nullopt,
      /*enable_gqa=*/shares_keys(query, key));
  return mixed.transpose(1, 2).flatten(2);
}

std::optional<at::Tensor> document_attention_flash(const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value,
                                                   const std::vector<int64_t>& lengths,
                                                   const at::Tensor& bounds, int64_t window,
                                                   double dropout) {
  const auto first = [&](const at::Tensor& heads) {
    return heads.narrow(1, 0, lengths.front()).transpose(1, 2);
  };
  if (!takes_flash(first(query), first(key), first(value), dropout)) return std::nullopt;
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const auto seen_before = window > 0 ? std::optional(window - 1) : std::nullopt;
  const auto mixed = std::get<0>(at::_flash_attention_forward(
      query.squeeze(0), key.squeeze(0), value.squeeze(0), bounds, bounds, longest, longest, dropout,
      /*is_causal=*/true, /*return_debug_mask=*/false, /*scale=*/std::nullopt, seen_before,
      /*window_size_right=*/seen_before ? std::optional<int64_t>(0) : std::nullopt));
  return mixed.flatten(1).unsqueeze(0);
}

}  // namespace exprun
