#include "store/turn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace exprun {
namespace {

// Bytes of the lock file. The last ticket is stored in eight of them; those of the tickets are
// locked only, and need not exist.
constexpr LockedBytes kWriting{0, 1};
constexpr LockedBytes kCounter{1, 1};
constexpr off_t kLastTicket = 8;
constexpr int64_t kFirstTicketByte = 1 << 20;
constexpr int64_t kTickets = int64_t{1} << 40;

LockedBytes byte_of(int64_t ticket) {
  return {kFirstTicketByte + (ticket + kTickets) % kTickets, 1};
}

// Under the lock of the counter. A disk without room for eight bytes gives everybody the same
// ticket: then writers are served in no order, as with a plain lock.
int64_t draw_ticket(int fd) {
  int64_t ticket = 0;
  if (::pread(fd, &ticket, sizeof ticket, kLastTicket) != sizeof ticket) ticket = 0;
  ticket = (ticket + 1) % kTickets;
  return ::pwrite(fd, &ticket, sizeof ticket, kLastTicket) == sizeof ticket ? ticket : -1;
}

// The way to the lock, in steps: what cannot be had at once is waited for where it was left off.
class Way {
 public:
  // Goes on with F_OFD_SETLK or F_OFD_SETLKW. 0 at the end, or an error number.
  int operator()(int fd, int command) {
    for (; step_ < 3; ++step_)
      if (const int error = go(fd, command)) return error;
    return 0;
  }

 private:
  int go(int fd, int command) {
    if (step_ == 0) return draw(fd, command);
    if (step_ == 1 && ticket_ < 0) return 0;
    return lock_bytes(fd, command, step_ == 1 ? byte_of(ticket_ - 1) : kWriting);
  }

  int draw(int fd, int command) {
    if (const int error = lock_bytes(fd, command, kCounter)) return error;
    ticket_ = draw_ticket(fd);
    // Whoever draws next must find it locked. It is free: nobody has drawn it before.
    const int error = ticket_ < 0 ? 0 : lock_bytes(fd, command, byte_of(ticket_));
    unlock_bytes(fd, kCounter);
    return error;
  }

  int step_ = 0;
  int64_t ticket_ = -1;
};

}  // namespace

std::optional<FileLock> take_turn(const std::filesystem::path& file,
                                  std::chrono::milliseconds patience) {
  return FileLock::take_within(file, patience, Way());
}

}  // namespace exprun
