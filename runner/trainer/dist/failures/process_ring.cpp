#include "dist/failures/process_ring.h"

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace exprun {
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

// A rank that reaches the rendezvous over the loopback is on its machine, to which its address
// leads.
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

}  // namespace exprun
