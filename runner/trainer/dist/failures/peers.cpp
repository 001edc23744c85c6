#include "dist/failures/peers.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace exprun {
namespace {

int64_t number_of(Peers::Status status) {
  return static_cast<int64_t>(status);
}

}  // namespace

Peers::Peers(c10::intrusive_ptr<c10d::Backend> backend)
    : backend_(std::move(backend)),
      sent_(at::empty({backend_->getSize()}, at::kLong)),
      received_(at::empty({backend_->getSize()}, at::kLong)) {}

Peers::~Peers() = default;

void Peers::begin(Status status) {
  sent_.fill_(number_of(status));
  std::vector<int64_t> equal;  // parts
  round_ = backend_->alltoall_base(received_, sent_, equal, equal);
}

// Of the round that has ended.
std::string Peers::result() {
  const bool was_exchanged = !round_->exception();
  round_.reset();
  const int64_t gravest = was_exchanged ? received_.max().item<int64_t>() : 0;
  over_ = !was_exchanged || gravest > 0;
  if (!was_exchanged) return "the process of another rank has ended";
  return gravest == number_of(Status::failed) ? "another rank has failed" : "";
}

std::string Peers::look() {
  if (over_) return "";
  if (!round_) begin(Status::present);
  return round_->isCompleted() ? result() : "";
}

void Peers::leave(Status status) {
  if (round_) finish();
  if (over_) return;
  begin(status);
  finish();
}

void Peers::finish() {
  constexpr std::chrono::seconds kPatience{2};
  try {
    round_->wait(kPatience);
  } catch (const std::exception&) {  // a rank that is gone need not receive it
  }
  over_ = !round_->isCompleted();
  if (over_)  // one hangs; destroyed, the backend would wait for it
    new c10::intrusive_ptr<c10d::Backend>(backend_);
  else
    result();
}

}  // namespace exprun
