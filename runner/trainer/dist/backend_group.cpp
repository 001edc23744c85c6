#include "dist/backend_group.h"

#include <exception>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "base/log.h"
#include "dist/abort_or_exit.h"
#include "dist/failure.h"
#include "dist/sums_in_order.h"
#include "dist/within.h"

namespace exprun {

namespace {

using Work = c10::intrusive_ptr<c10d::Work>;

// The exchange of a rank may go on in silence where another's has failed: whoever waits for it
// looks up at times.
class UnderWay : public Collective {
 public:
  UnderWay(std::string what, Work work, std::shared_ptr<RollCall> roll_call)
      : what_(std::move(what)), work_(std::move(work)), roll_call_(std::move(roll_call)) {}

  void wait() override {
    roll_call_->while_waiting(what_, [this] {
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

  // The last exchange of all may just be ending, and who serves the rendezvous have left behind it.
  void require_no_trouble() {
    if (roll_call_->trouble().empty() || has_ended()) return;
    roll_call_->require_no_trouble(what_);
  }

  std::string what_;
  Work work_;
  std::shared_ptr<RollCall> roll_call_;
};

// What the device is asked to do from here on comes behind the collective; this thread goes on.
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
    throw Error(
        "dist: " + lost_in("what its GPU exchanges") + ": " + trouble + parts_.roll_call->cause(),
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
    return "rank " + std::to_string(rank()) + " has lost the others in " + what;
  }

  // NCCL's threads must end before CUDA does, and in an orderly way only where all ranks end so:
  // behind an error the others may never come.
  void end_on_device() {
    const bool in_order = std::uncaught_exceptions() == 0 && parts_.watch->trouble().empty();
    parts_.watch->leave(in_order ? Peers::Word::leaving : Peers::Word::failed);
    if (in_order && is_shut_down()) return;
    abort_or_exit("the ranks have not parted in order",
                  [backend = parts_.backend] { backend->abort(); });
  }

  // Behind the last collective the others come to it at once.
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
      return std::make_unique<UnderWay>(what, work, parts_.roll_call);
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
