#include "dist/backend_group.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>

#include <exception>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "base/log.h"
#include "dist/failure.h"

namespace exprun {

namespace {

using Work = c10::intrusive_ptr<c10d::Work>;

class UnderWay : public Collective {
 public:
  UnderWay(std::string what, Work work, const std::function<std::string()>& why)
      : what_(std::move(what)), work_(std::move(work)), why_(why) {}

  void wait() override {
    try {
      dist_call(what_, [this] { work_->wait(); });
    } catch (const Error& error) {
      throw Error(error.what() + why_(), error.code());
    }
  }

 private:
  std::string what_;
  Work work_;
  const std::function<std::string()>& why_;
};

// The parts of all ranks, one behind the other, become their sum, in the order of the ranks.
class SumOfReceived : public Collective {
 public:
  SumOfReceived(std::unique_ptr<Collective> exchange, at::Tensor received, at::Tensor sum)
      : exchange_(std::move(exchange)), received_(std::move(received)), sum_(std::move(sum)) {}

  void wait() override {
    exchange_->wait();
    const at::NoGradGuard no_grad;
    at::sum_out(sum_, received_.view({-1, sum_.numel()}), {0});
    received_.reset();
  }

 private:
  std::unique_ptr<Collective> exchange_;
  at::Tensor received_, sum_;
};

class BackendGroup : public ProcessGroup {
 public:
  BackendGroup(c10::intrusive_ptr<c10d::Backend> backend, c10::intrusive_ptr<c10d::Backend> numbers,
               std::function<std::string()> why, ReduceScatter reduce_scatter)
      : backend_(std::move(backend)),
        numbers_(std::move(numbers)),
        why_(std::move(why)),
        reduce_scatter_(reduce_scatter) {}
  BackendGroup(const BackendGroup&) = delete;
  BackendGroup& operator=(const BackendGroup&) = delete;

  // NCCL's threads must end before CUDA does, and in an orderly way only where all ranks end so:
  // behind an error the others may never come. Gloo has nothing to end.
  ~BackendGroup() override {
    try {
      if (std::uncaught_exceptions() > 0)
        backend_->abort();
      else
        backend_->shutdown();
    } catch (const std::exception& error) {
      log(LogLevel::debug, std::string("dist: ") + error.what());
    }
  }

  int rank() const override { return backend_->getRank(); }
  int world_size() const override { return backend_->getSize(); }

  std::unique_ptr<Collective> all_reduce(at::Tensor tensor) override {
    return start("all-reduce", [&] {
      std::vector<at::Tensor> tensors{tensor};
      return backend_->allreduce(tensors);
    });
  }
  std::unique_ptr<Collective> sum_numbers(at::Tensor numbers) override {
    return start("all-reduce", [&] {
      std::vector<at::Tensor> tensors{numbers};
      return numbers_->allreduce(tensors);
    });
  }
  std::unique_ptr<Collective> reduce(at::Tensor tensor, int to) override {
    return start("reduce", [&] {
      std::vector<at::Tensor> tensors{tensor};
      c10d::ReduceOptions options;
      options.rootRank = to;
      return backend_->reduce(tensors, options);
    });
  }
  std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) override {
    if (reduce_scatter_ == ReduceScatter::exchange) {
      at::Tensor received = at::empty_like(whole);
      auto exchange = start("reduce-scatter", [&] {
        std::vector<int64_t> equal;  // parts
        return backend_->alltoall_base(received, whole, equal, equal);
      });
      return std::make_unique<SumOfReceived>(std::move(exchange), received, part.view(-1));
    }
    return start("reduce-scatter", [&] { return backend_->_reduce_scatter_base(part, whole); });
  }
  std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) override {
    return start("all-gather", [&] { return backend_->_allgather_base(whole, part); });
  }
  std::unique_ptr<Collective> broadcast(at::Tensor tensor, int from) override {
    return start("broadcast", [&] {
      std::vector<at::Tensor> tensors{tensor};
      c10d::BroadcastOptions options;
      options.rootRank = from;
      return backend_->broadcast(tensors, options);
    });
  }

 private:
  template <class Function>
  std::unique_ptr<Collective> start(const char* name, Function function) {
    const std::string what = "rank " + std::to_string(rank()) + " has lost the others in " + name;
    return std::make_unique<UnderWay>(what, dist_call(what, function), why_);
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  c10::intrusive_ptr<c10d::Backend> numbers_;
  std::function<std::string()> why_;
  ReduceScatter reduce_scatter_;
};

}  // namespace

std::unique_ptr<ProcessGroup> group_over(c10::intrusive_ptr<c10d::Backend> backend,
                                         c10::intrusive_ptr<c10d::Backend> numbers,
                                         std::function<std::string()> why,
                                         ReduceScatter reduce_scatter) {
  return std::make_unique<BackendGroup>(std::move(backend), std::move(numbers), std::move(why),
                                        reduce_scatter);
}

}  // namespace exprun
