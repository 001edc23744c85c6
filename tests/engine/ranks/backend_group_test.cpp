// What a process group over a device makes of faults, with a device that is not there: its backend
// and the collectives that it is asked for are this file's, all else is what runs on GPUs.
#include "dist/backend_group.h"

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "base/diagnostic.h"
#include "dist/failures/failure.h"
#include "dist/gloo.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

using std::chrono::milliseconds;

// What the device does with each collective, and what has been asked of it.
struct Device {
  std::function<bool()> has_ended = [] { return true; };
  std::function<void()> synchronize = [] {};
  std::function<void()> abort = [] {};
  std::atomic<int> collectives = 0, aborts = 0, shutdowns = 0;
};

class DeviceWork : public c10d::Work {
 public:
  explicit DeviceWork(Device& device) : device_(device) {}
  bool isCompleted() override { return device_.has_ended(); }
  void synchronize() override { device_.synchronize(); }

 private:
  Device& device_;
};

class DeviceBackend : public c10d::Backend {
 public:
  DeviceBackend(const ProcessGroup& like, Device& device)
      : Backend(like.rank(), like.world_size()), device_(device) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&,
                                           const c10d::AllreduceOptions&) override {
    ++device_.collectives;
    return c10::make_intrusive<DeviceWork>(device_);
  }
  void abort() override {
    device_.abort();
    ++device_.aborts;
  }
  void shutdown() override { ++device_.shutdowns; }

 private:
  Device& device_;
};

// As nccl_group makes it.
std::unique_ptr<ProcessGroup> group_on(Device& device, const ProcessGroup& of_cpus,
                                       Rendezvous& rendezvous, milliseconds timeout) {
  const auto backend = c10::make_intrusive<DeviceBackend>(of_cpus, device);
  return group_over(
      {.backend = backend,
       .numbers = backend,
       .membership = rendezvous.membership(),
       .watch = std::make_unique<DeviceWatch>(gloo_peers(rendezvous, kRankPatience), timeout,
                                              [backend] { backend->abort(); }),
       .mark = [] { return [] { return true; }; },
       .watched = [](const auto& work) { return [work] { return work->isCompleted(); }; }});
}

void all_reduce(ProcessGroup& group) {
  group.all_reduce(at::zeros({4}))->wait();
}

// As training goes on until it learns of a failure: the error it then throws.
std::string end_of(ProcessGroup& group) {
  const auto late = std::chrono::steady_clock::now() + kRankPatience;
  try {
    while (std::chrono::steady_clock::now() < late) {
      group.require_intact();
      std::this_thread::sleep_for(milliseconds(10));
    }
    return "no error";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::lost_ranks);
    return error.what();
  }
}

const std::string kLost = "dist: rank 0 lost contact with the other ranks in a GPU exchange: ";

// Of one rank, whose device has been asked for a collective.
std::string end_with(Device& device, milliseconds timeout) {
  std::string text;
  on_ranks(1, [&](const auto& of_cpus, Rendezvous& rendezvous) {
    const auto group = group_on(device, *of_cpus, rendezvous, timeout);
    all_reduce(*group);
    text = end_of(*group);
    CHECK_THROWS_AS(all_reduce(*group), Error);  // no further one begins
  });
  return text;
}

}  // namespace

TEST_CASE(
    "backend group: a collective that a device does not end is aborted, and no other begins") {
  Device device;
  device.has_ended = [] { return false; };
  CHECK(end_with(device, milliseconds(1000)) == kLost + "the exchange did not finish within 1 s");
  CHECK(device.collectives == 1);
  CHECK(device.aborts >= 1);
  CHECK(device.shutdowns == 0);
}

TEST_CASE("backend group: what a collective of the device fails of is said") {
  Device device;
  device.has_ended = []() -> bool {
    throw std::runtime_error("NCCL error: remote process exited\nstack");
  };
  CHECK(end_with(device, std::chrono::minutes(1)) == kLost + "NCCL error: remote process exited");
  CHECK(device.aborts >= 1);
}

TEST_CASE("backend group: an error of waiting is the loss of others, or the device's own") {
  Device device;
  on_ranks(1, [&](const auto& of_cpus, Rendezvous& rendezvous) {
    const auto group = group_on(device, *of_cpus, rendezvous, std::chrono::minutes(1));
    device.synchronize = [] { TORCH_CHECK(false, "NCCL communicator was aborted"); };
    CHECK_THROWS_WITH_AS(all_reduce(*group),
                         "dist: rank 0 lost contact with the other ranks in all-reduce: NCCL "
                         "communicator was aborted",
                         Error);
    device.synchronize = [] {
      throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 719, "CUDA error: launch failed");
    };
    CHECK_THROWS_AS(all_reduce(*group), c10::AcceleratorError);
  });
}

TEST_CASE("backend group: ranks that end in order shut down, and no device is aborted") {
  std::vector<Device> devices(2);
  on_ranks(2, [&](const auto& of_cpus, Rendezvous& rendezvous) {
    Device& device = devices[static_cast<size_t>(of_cpus->rank())];
    const auto group = group_on(device, *of_cpus, rendezvous, std::chrono::minutes(1));
    for (int i = 0; i < 3; ++i) all_reduce(*group);
    sum_over_ranks(*of_cpus, {1});
  });
  for (const Device& device : devices) {
    CHECK(device.collectives == 3);
    CHECK(device.shutdowns == 1);
    CHECK(device.aborts == 0);
  }
}

TEST_CASE("backend group: a rank that fails aborts its device, and that of the other") {
  std::vector<Device> devices(2);
  devices[0].has_ended = [] { return false; };
  std::string text;
  on_ranks(2, [&](const auto& of_cpus, Rendezvous& rendezvous) {
    Device& device = devices[static_cast<size_t>(of_cpus->rank())];
    try {
      const auto group = group_on(device, *of_cpus, rendezvous, std::chrono::minutes(1));
      all_reduce(*group);
      if (of_cpus->rank() == 1) throw std::runtime_error("no memory");
      text = end_of(*group);
    } catch (const std::runtime_error& error) {
      rendezvous.membership()->report_failure(error.what());
    }
  });
  CHECK(text == kLost + "another rank has failed; rank 1: no memory");
  CHECK(devices[0].aborts >= 1);
  CHECK(devices[1].aborts == 1);
  CHECK(devices[1].shutdowns == 0);
}

TEST_CASE("backend group: of what NCCL says its own last error is kept") {
  CHECK(first_sentence("NCCL error in: NCCLUtils.cpp:94, unhandled system error, NCCL version "
                       "2.28.9\nncclSystemError: System call failed.\nLast error:\nError: No space "
                       "left on device (28)\nException raised from init") ==
        "NCCL error in: NCCLUtils.cpp:94, unhandled system error, NCCL version 2.28.9: Error: No "
        "space left on device (28)");
  CHECK(first_sentence("[/gloo/pair.cc:544] Connection closed by peer [::1]:3\nstack") ==
        "Connection closed by peer [::1]:3");
}

TEST_CASE("backend group: a process whose device cannot be aborted ends") {
  const pid_t child = ::fork();
  if (child == 0) {
    Device device;
    device.has_ended = [] { return false; };
    device.abort = [] { std::this_thread::sleep_for(std::chrono::hours(1)); };
    end_with(device, milliseconds(1000));
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::lost_ranks));
}
