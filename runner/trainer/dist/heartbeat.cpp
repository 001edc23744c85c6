#include "dist/heartbeat.h"

#include <ATen/ops/empty.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace exprun {
namespace {

constexpr int kTooMany = 24;  // looks in vain: six seconds

constexpr int64_t kLast = int64_t{1} << 40;  // what the last sign adds to their count

std::string key_of(int rank) {
  return "signs-of-life/" + std::to_string(rank);
}

}  // namespace

Heartbeat::Heartbeat(const RankPlace& place)
    : rank_(place.rank), next_((place.rank + 1) % place.world_size) {}

bool Heartbeat::next_is_silent(c10d::Store& store) {
  store.add(key_of(rank_), 1);
  const int64_t sign = store.add(key_of(next_), 0);
  in_vain_ = sign == last_ && sign < kLast ? in_vain_ + 1 : 0;
  last_ = sign;
  return in_vain_ >= kTooMany;
}

void Heartbeat::end(c10d::Store& store) {
  if (!ended_) store.add(key_of(rank_), kLast);
  ended_ = true;
}

namespace {

constexpr int kPatienceMs = 1000;

bool becomes(int fd, short event, int patience_ms) {
  pollfd polled{fd, event, 0};
  return ::poll(&polled, 1, patience_ms) > 0;
}

bool is_connected(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// A machine that has lost its power, or its cable, says nothing: its connections end a minute
// later.
void ask_for_sign_of_life(int fd) {
  using Option = std::array<int, 3>;  // level, name, value
  for (const auto& [level, name, value] :
       {Option{SOL_SOCKET, SO_KEEPALIVE, 1}, Option{IPPROTO_TCP, TCP_KEEPIDLE, 30},
        Option{IPPROTO_TCP, TCP_KEEPINTVL, 10}, Option{IPPROTO_TCP, TCP_KEEPCNT, 3}})
    ::setsockopt(fd, level, name, &value, sizeof value);
}

UniqueFd connected_to(const addrinfo& address) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ask_for_sign_of_life(fd.get());
  const bool is_there = ::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0 ||
                        (errno == EINPROGRESS && becomes(fd.get(), POLLOUT, kPatienceMs));
  return is_there && is_connected(fd.get()) ? std::move(fd) : UniqueFd();
}

}  // namespace

bool Liveness::is_there() {
  if (!holds()) connect();
  return holds();
}

// Nothing is ever sent on it: what comes is its end.
bool Liveness::holds() const {
  return connection_ && !becomes(connection_.get(), POLLIN | POLLRDHUP, 0);
}

void Liveness::connect() {
  connection_ = UniqueFd();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &list) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry && !connection_; entry = entry->ai_next)
    connection_ = connected_to(*entry);
}

namespace {

std::string process_key(int rank) {
  return "process/" + std::to_string(rank);
}

std::string left_key(int rank) {
  return "process-left/" + std::to_string(rank);
}

ListeningSocket listen_for(const RankPlace& place) {
  return place.address == "127.0.0.1" ? listen_on_loopback() : listen_on_all_interfaces(0);
}

}  // namespace

ProcessRing::ProcessRing(const RankPlace& place)
    : place_(place), next_((place.rank + 1) % place.world_size), listening_(listen_for(place)) {}

// Who reaches the rendezvous over the loopback is on its machine, to which its address leads.
void ProcessRing::find_next(c10d::Store& store) {
  if (!is_announced_) {
    const std::string own = own_address_towards(place_.address);
    store.set(process_key(place_.rank),
              std::to_string(listening_.port) + " " + (leads_elsewhere(own) ? own : ""));
    is_announced_ = true;
  }
  if (!store.check({process_key(next_)})) return;
  const auto bytes = store.get(process_key(next_));
  const std::string text(bytes.begin(), bytes.end());
  const size_t space = text.find(' ');
  const std::string host = text.substr(space + 1);
  next_process_.emplace(host.empty() ? place_.address : host,
                        static_cast<uint16_t>(std::stoi(text.substr(0, space))));
}

bool ProcessRing::next_is_gone(c10d::Store& store) {
  if (!next_process_) find_next(store);
  if (!next_process_) return false;
  if (next_process_->is_there()) {
    was_there_ = true;
    return false;
  }
  return was_there_ && !store.check({left_key(next_)});
}

void ProcessRing::leave(c10d::Store& store) {
  if (!has_left_) store.set(left_key(place_.rank), "");
  has_left_ = true;
}

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
  if (!was_exchanged) return "the process of another rank has ended";
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
