// Several threads that each turn items into results, taken in the order of the items: what comes
// out does not depend on how many there are. A bounded number of items is under way.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

template <class Item, class Result>
class OrderedWorkers {
 public:
  using Work = std::function<Result(Item)>;

  // `make_work` is called once a thread. `use` gets the results, in order, in the thread that puts.
  // Where the system starts fewer threads, those do all; throws Error when it starts none.
  OrderedWorkers(size_t threads, std::function<Work()> make_work, std::function<void(Result)> use)
      : most_(2 * threads + 1), use_(std::move(use)) {
    for (size_t i = 0; i < threads; ++i) try {
        threads_.emplace_back([this, make_work] { run(make_work); });
      } catch (const std::system_error& error) {
        if (i > 0) break;
        throw Error("threads: cannot start one: " + error.code().message() +
                    "; raise the limits of processes and memory (ulimit -u, -v)");
      }
  }

  ~OrderedWorkers() { end(); }

  // Uses earlier results where enough items are under way. Throws what a worker threw.
  void put(Item item) {
    while (results_.size() >= most_) use_first();
    Task task{std::move(item), {}};
    results_.push_back(task.result.get_future());
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
  }

  // Uses all that is left.
  void finish() {
    while (!results_.empty()) use_first();
  }

 private:
  struct Task {
    Item item;
    std::promise<Result> result;
  };

  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.clear();
      ended_ = true;
    }
    ready_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void use_first() {
    auto first = std::move(results_.front());
    results_.pop_front();
    use_(first.get());
  }

  void run(const std::function<Work()>& make_work) {
    Work work;
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      ready_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      try {
        if (!work) work = make_work();
        task.result.set_value(work(std::move(task.item)));
      } catch (...) {
        task.result.set_exception(std::current_exception());
      }
    }
  }

  const size_t most_;
  std::function<void(Result)> use_;
  std::deque<std::future<Result>> results_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Task> tasks_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace exprun
