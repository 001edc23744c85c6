#include "dist/backend_group.h"

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <exception>
#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "base/log.h"
#include "dist/failures/failure.h"
#include "dist/failures/watchdog.h"
#include "dist/process_group.h"

namespace exprun {
namespace {

// Sums that the ranks of a backend add up themselves, in the order of the ranks: an element's sum
// has the same bits however tensors are cut and whoever needs it, so DDP and ZeRO-1 train alike.
// What a backend begins for them, on contiguous tensors.
struct Exchanges {
  int rank = 0, world_size = 1;

  // The first `sent[0]` elements of `from` go to rank 0, and so on; `to` takes what comes likewise.
  // `purpose`: in whose place it stands, for messages.
  std::function<std::unique_ptr<Collective>(const char* purpose, at::Tensor to,
                                            std::vector<int64_t> received, at::Tensor from,
                                            std::vector<int64_t> sent)>
      all_to_all;

  // ProcessGroup::all_gather.
  std::function<std::unique_ptr<Collective>(const char* purpose, at::Tensor whole, at::Tensor part)>
      all_gather;
};

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

// After the parts of a sum, which go from each rank to all others.
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

// As the collectives of ProcessGroup. Half-precision numbers are added in single precision.
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

using Work = c10::intrusive_ptr<c10d::Work>;

// The exchange of a rank may go on in silence where another's has failed: whoever waits for it
// looks up at times.
class UnderWay : public Collective {
 public:
  UnderWay(std::string what, Work work, std::shared_ptr<Membership> membership)
      : what_(std::move(what)), work_(std::move(work)), membership_(std::move(membership)) {}

  void wait() override {
    membership_->while_waiting(what_, [this] {
      while (!has_ended()) require_no_trouble();
    });
  }

 private:
  bool has_ended() {
    constexpr std::chrono::milliseconds kLook{100};
    try {
      return work_->wait(kLook);
    } catch (const std::exception&) {
      return work_->isCompleted() && work_->wait();
    }
  }

  // The last exchange of all may just be ending, and who serves the rendezvous have left after it.
  void require_no_trouble() {
    if (membership_->trouble().empty() || has_ended()) return;
    membership_->require_no_trouble(what_);
  }

  std::string what_;
  Work work_;
  std::shared_ptr<Membership> membership_;
};

// What the device is asked to do from here on comes after the collective; this thread goes on.
class OnDevice : public Collective {
 public:
  OnDevice(std::string what, Work work) : what_(std::move(what)), work_(std::move(work)) {}

  void wait() override {
    dist_call(what_, [this] { work_->synchronize(); });
  }

 private:
  std::string what_;
  Work work_;
};

class BackendGroup : public ProcessGroup {
 public:
  explicit BackendGroup(BackendParts parts) : parts_(std::move(parts)) {}
  BackendGroup(const BackendGroup&) = delete;
  BackendGroup& operator=(const BackendGroup&) = delete;

  // Gloo's threads are awaited, but not in exchanges with ranks that may never come: those are left
  // behind.
  ~BackendGroup() override {
    if (parts_.watch)
      end_on_device();
    else if (is_exchanging())
      new BackendParts(std::move(parts_));
  }

  int rank() const override { return parts_.backend->getRank(); }
  int world_size() const override { return parts_.backend->getSize(); }
  bool exchanges() const override { return true; }

  void require_intact() override {
    const std::string trouble = parts_.watch ? parts_.watch->trouble() : "";
    if (trouble.empty()) return;
    throw Error("dist: " + lost_in("a GPU exchange") + ": " + trouble + parts_.membership->cause(),
                ExitCode::lost_ranks);
  }

  std::unique_ptr<Collective> all_reduce(at::Tensor tensor) override {
    if (parts_.sums == Sums::in_order_of_ranks) return all_reduce_in_order(exchanges_of(), tensor);
    return start("all-reduce", [&] {
      std::vector<at::Tensor> tensors{tensor};
      return parts_.backend->allreduce(tensors);
    });
  }
  std::unique_ptr<Collective> sum_numbers(at::Tensor numbers) override {
    return start("all-reduce", [&] {
      std::vector<at::Tensor> tensors{numbers};
      return parts_.numbers->allreduce(tensors);
    });
  }
  std::unique_ptr<Collective> reduce(at::Tensor tensor, int to) override {
    if (parts_.sums == Sums::in_order_of_ranks) return reduce_in_order(exchanges_of(), tensor, to);
    return start("reduce", [&] {
      std::vector<at::Tensor> tensors{tensor};
      c10d::ReduceOptions options;
      options.rootRank = to;
      return parts_.backend->reduce(tensors, options);
    });
  }
  std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) override {
    if (parts_.sums == Sums::in_order_of_ranks)
      return reduce_scatter_in_order(exchanges_of(), part, whole);
    return start("reduce-scatter",
                 [&] { return parts_.backend->_reduce_scatter_base(part, whole); });
  }
  std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) override {
    return start_gather("all-gather", whole, part);
  }
  std::unique_ptr<Collective> broadcast(at::Tensor tensor, int from) override {
    return start("broadcast", [&] {
      std::vector<at::Tensor> tensors{tensor};
      c10d::BroadcastOptions options;
      options.rootRank = from;
      return parts_.backend->broadcast(tensors, options);
    });
  }

 private:
  Exchanges exchanges_of() {
    return {rank(), world_size(),
            [this](const char* purpose, at::Tensor to, std::vector<int64_t> received,
                   at::Tensor from, std::vector<int64_t> sent) {
              return start(purpose,
                           [&] { return parts_.backend->alltoall_base(to, from, received, sent); });
            },
            [this](const char* purpose, at::Tensor whole, at::Tensor part) {
              return start_gather(purpose, whole, part);
            }};
  }

  std::unique_ptr<Collective> start_gather(const char* purpose, at::Tensor whole, at::Tensor part) {
    return start(purpose, [&] { return parts_.backend->_allgather_base(whole, part); });
  }

  std::string lost_in(const std::string& what) const {
    return "rank " + std::to_string(rank()) + " lost contact with the other ranks in " + what;
  }

  // NCCL's threads must end before CUDA does, and in an orderly way only where all ranks end so:
  // after an error the others may never come.
  void end_on_device() {
    const bool in_order = std::uncaught_exceptions() == 0 && parts_.watch->trouble().empty();
    parts_.watch->leave(in_order ? Peers::Status::leaving : Peers::Status::failed);
    if (in_order && is_shut_down()) return;
    abort_or_exit("the ranks did not shut down in order",
                  [backend = parts_.backend] { backend->abort(); });
  }

  // After the last collective the others come to it at once.
  bool is_shut_down() const {
    try {
      return within(std::chrono::seconds(30),
                    [backend = parts_.backend] {
                      backend->shutdown();
                      return true;
                    })
          .has_value();
    } catch (const std::exception& error) {
      log(LogLevel::debug, std::string("dist: ") + error.what());
      return true;
    }
  }

  bool is_exchanging() {
    forget_ended();
    return !under_way_.empty();
  }

  void forget_ended() {
    std::erase_if(under_way_, [](const auto& entry) {
      const Work work = entry.lock();
      return !work || work->isCompleted();
    });
  }

  template <class Function>
  std::unique_ptr<Collective> start(const char* name, Function function) {
    const std::string what = lost_in(name);
    require_intact();
    if (!parts_.watch) {
      const Work work = dist_call(what, function);
      forget_ended();
      under_way_.emplace_back(work);
      return std::make_unique<UnderWay>(what, work, parts_.membership);
    }
    auto has_begun = parts_.mark();
    const Work work = dist_call(what, function);
    parts_.watch->follow({std::move(has_begun), parts_.watched(work)});
    return std::make_unique<OnDevice>(what, work);
  }

  BackendParts parts_;
  std::vector<c10::weak_intrusive_ptr<c10d::Work>> under_way_;  // on the CPU
};

}  // namespace

std::unique_ptr<ProcessGroup> group_over(BackendParts parts) {
  return std::make_unique<BackendGroup>(std::move(parts));
}

}  // namespace exprun
