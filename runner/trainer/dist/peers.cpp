#include "dist/peers.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace exprun {

namespace {

int64_t number_of(Peers::Word word) {
  return static_cast<int64_t>(word);
}

}  // namespace

Peers::Peers(c10::intrusive_ptr<c10d::Backend> backend)
    : backend_(std::move(backend)),
      said_(at::empty({backend_->getSize()}, at::kLong)),
      heard_(at::empty({backend_->getSize()}, at::kLong)) {}

Peers::~Peers() = default;

void Peers::begin(Word word) {
  said_.fill_(number_of(word));
  std::vector<int64_t> equal;  // parts
  round_ = backend_->alltoall_base(heard_, said_, equal, equal);
}

// Of the round that has ended.
std::string Peers::result() {
  const bool was_exchanged = !round_->exception();
  round_.reset();
  const int64_t gravest = was_exchanged ? heard_.max().item<int64_t>() : 0;
  over_ = !was_exchanged || gravest > 0;
  if (!was_exchanged) return "the process of another rank is gone";
  return gravest == number_of(Word::failed) ? "another rank has failed" : "";
}

std::string Peers::look() {
  if (over_) return "";
  if (!round_) begin(Word::here);
  return round_->isCompleted() ? result() : "";
}

void Peers::leave(Word word) {
  if (round_) finish();
  if (over_) return;
  begin(word);
  finish();
}

void Peers::finish() {
  constexpr std::chrono::seconds kPatience{2};
  try {
    round_->wait(kPatience);
  } catch (const std::exception&) {  // who is gone need not hear it
  }
  over_ = !round_->isCompleted();
  if (over_)  // one hangs; destroyed, the backend would wait for it
    new c10::intrusive_ptr<c10d::Backend>(backend_);
  else
    result();
}

}  // namespace exprun
