#include "dist/sums_in_order.h"

#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

namespace exprun {

namespace {

// `terms`: a rank's in each row.
void add_in_order(const at::Tensor& sum, const at::Tensor& terms) {
  const at::NoGradGuard no_grad;
  const int64_t last = terms.size(0) - 1;
  at::Tensor so_far = terms[0].to(at::toOpMathType(terms.scalar_type()));
  if (last == 0) sum.copy_(so_far);
  for (int64_t rank = 1; rank < last; ++rank) so_far.add_(terms[rank]);
  at::Tensor out = sum;
  if (last > 0) at::add_out(out, so_far, terms[last]);
}

// Terms on their way to one who adds them.
class Added : public Collective {
 public:
  Added(std::unique_ptr<Collective> exchange, at::Tensor terms, at::Tensor sum)
      : exchange_(std::move(exchange)), terms_(std::move(terms)), sum_(std::move(sum)) {}

  void wait() override {
    exchange_->wait();
    if (terms_.numel() > 0) add_in_order(sum_, terms_);
    terms_.reset();
  }

 private:
  std::unique_ptr<Collective> exchange_;
  at::Tensor terms_, sum_;
};

// Behind the parts of a sum, which go from each rank to all others.
class Gathered : public Collective {
 public:
  Gathered(std::unique_ptr<Collective> parts, std::function<std::unique_ptr<Collective>()> gather,
           std::function<void()> at_the_end)
      : parts_(std::move(parts)), gather_(std::move(gather)), at_the_end_(std::move(at_the_end)) {}

  void go_on() override {
    if (gathered_) return;
    parts_->wait();
    gathered_ = gather_();
  }

  void wait() override {
    go_on();
    gathered_->wait();
    at_the_end_();
  }

 private:
  std::unique_ptr<Collective> parts_;
  std::function<std::unique_ptr<Collective>()> gather_;
  std::function<void()> at_the_end_;
  std::unique_ptr<Collective> gathered_;
};

std::unique_ptr<Collective> scatter(const Exchanges& exchanges, const char* purpose,
                                    const at::Tensor& part, const at::Tensor& whole) {
  const std::vector<int64_t> equal(static_cast<size_t>(exchanges.world_size), part.numel());
  const at::Tensor terms = at::empty({exchanges.world_size, part.numel()}, whole.options());
  auto exchange = exchanges.all_to_all(purpose, terms.view(-1), equal, whole.view(-1), equal);
  return std::make_unique<Added>(std::move(exchange), terms, part.view(-1));
}

}  // namespace

std::unique_ptr<Collective> all_reduce_in_order(const Exchanges& exchanges, at::Tensor tensor) {
  constexpr const char* kPurpose = "all-reduce";
  const at::Tensor flat = tensor.view(-1);
  const int64_t count = (flat.numel() + exchanges.world_size - 1) / exchanges.world_size;
  const int64_t missing = count * exchanges.world_size - flat.numel();
  const at::Tensor whole = missing ? at::constant_pad_nd(flat, {0, missing}) : flat;
  const at::Tensor part = whole.narrow(0, exchanges.rank * count, count);
  return std::make_unique<Gathered>(
      scatter(exchanges, kPurpose, part, whole),
      [=, gather = exchanges.all_gather] { return gather(kPurpose, whole, part); },
      [=] {
        if (missing) flat.copy_(whole.narrow(0, 0, flat.numel()));
      });
}

std::unique_ptr<Collective> reduce_in_order(const Exchanges& exchanges, at::Tensor tensor, int to) {
  const auto ranks = static_cast<size_t>(exchanges.world_size);
  const at::Tensor flat = tensor.view(-1);
  const int64_t rows = exchanges.rank == to ? exchanges.world_size : 0;
  const at::Tensor terms = at::empty({rows, flat.numel()}, flat.options());
  std::vector<int64_t> sent(ranks);
  sent[static_cast<size_t>(to)] = flat.numel();
  const std::vector<int64_t> received(ranks, rows ? flat.numel() : 0);
  auto exchange = exchanges.all_to_all("reduce", terms.view(-1), received, flat, std::move(sent));
  return std::make_unique<Added>(std::move(exchange), terms, flat);
}

std::unique_ptr<Collective> reduce_scatter_in_order(const Exchanges& exchanges, at::Tensor part,
                                                    at::Tensor whole) {
  return scatter(exchanges, "reduce-scatter", part, whole);
}

}  // namespace exprun
