#include "tests/unit/store/faulty_vfs.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "base/diagnostic.h"

namespace exprun {
namespace {

using Operation = FaultyVfs::Operation;
using Fault = FaultyVfs::Fault;

struct Plan {
  std::atomic<bool> armed{false};
  std::atomic<bool> struck{false};
  std::atomic<int64_t> countdown{0};
  Operation operation = Operation::any;
  Fault fault = Fault::io_error;
  bool for_ever = false;
};

Plan plan;
sqlite3_vfs faulty;
sqlite3_vfs* real = nullptr;

// Our file is followed in memory by the real one.
struct File {
  sqlite3_file base;
};
sqlite3_file* inner(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
}

bool strikes(Operation operation) {
  if (!plan.armed || (plan.operation != Operation::any && plan.operation != operation))
    return false;
  const int64_t left = --plan.countdown;
  if (left > 0 || (left < 0 && !plan.for_ever)) return false;
  plan.struck = true;
  return true;
}

void die_if_wanted() {
  if (plan.fault == Fault::death) ::kill(::getpid(), SIGKILL);
}

int code_of(int io_error) {
  return plan.fault == Fault::io_error ? io_error : SQLITE_FULL;
}

int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  sqlite3_file* const to = inner(file);
  if (!strikes(Operation::write)) return to->pMethods->xWrite(to, bytes, count, offset);
  if (plan.fault != Fault::io_error && plan.fault != Fault::disk_full)
    to->pMethods->xWrite(to, bytes, count / 2, offset);
  die_if_wanted();
  return code_of(SQLITE_IOERR_WRITE);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (strikes(Operation::truncate)) {
    die_if_wanted();
    return SQLITE_IOERR_TRUNCATE;
  }
  return inner(file)->pMethods->xTruncate(inner(file), size);
}

int sync(sqlite3_file*, int) {
  if (!strikes(Operation::sync)) return SQLITE_OK;
  die_if_wanted();
  return SQLITE_IOERR_FSYNC;
}

int lock(sqlite3_file* file, int level) {
  if (strikes(Operation::lock)) {
    die_if_wanted();
    return SQLITE_IOERR_LOCK;
  }
  return inner(file)->pMethods->xLock(inner(file), level);
}

int shm_lock(sqlite3_file* file, int offset, int count, int how) {
  if ((how & SQLITE_SHM_LOCK) != 0 && strikes(Operation::lock)) {
    die_if_wanted();
    return SQLITE_IOERR_SHMLOCK;
  }
  return inner(file)->pMethods->xShmLock(inner(file), offset, count, how);
}

// What is only passed on.
int close(sqlite3_file* file) {
  return inner(file)->pMethods->xClose(inner(file));
}
int read(sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
  return inner(file)->pMethods->xRead(inner(file), bytes, count, offset);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return inner(file)->pMethods->xFileSize(inner(file), size);
}
int unlock(sqlite3_file* file, int level) {
  return inner(file)->pMethods->xUnlock(inner(file), level);
}
int check_reserved_lock(sqlite3_file* file, int* result) {
  return inner(file)->pMethods->xCheckReservedLock(inner(file), result);
}
int file_control(sqlite3_file* file, int what, void* argument) {
  return inner(file)->pMethods->xFileControl(inner(file), what, argument);
}
int sector_size(sqlite3_file* file) {
  return inner(file)->pMethods->xSectorSize(inner(file));
}
int characteristics(sqlite3_file* file) {
  return inner(file)->pMethods->xDeviceCharacteristics(inner(file));
}
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return inner(file)->pMethods->xShmMap(inner(file), page, size, extend, memory);
}
void shm_barrier(sqlite3_file* file) {
  inner(file)->pMethods->xShmBarrier(inner(file));
}
int shm_unmap(sqlite3_file* file, int remove) {
  return inner(file)->pMethods->xShmUnmap(inner(file), remove);
}

const sqlite3_io_methods kMethods = {2,
                                     close,
                                     read,
                                     write,
                                     truncate,
                                     sync,
                                     file_size,
                                     lock,
                                     unlock,
                                     check_reserved_lock,
                                     file_control,
                                     sector_size,
                                     characteristics,
                                     shm_map,
                                     shm_lock,
                                     shm_barrier,
                                     shm_unmap,
                                     nullptr,
                                     nullptr};

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  inner(file)->pMethods = nullptr;
  const int code = real->xOpen(real, name, inner(file), flags, out_flags);
  if (inner(file)->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}

}  // namespace

FaultyVfs::FaultyVfs() {
  real = sqlite3_vfs_find(nullptr);
  faulty = *real;
  faulty.zName = "faulty";
  faulty.szOsFile = static_cast<int>(sizeof(File)) + real->szOsFile;
  faulty.xOpen = open;
  faulty.pNext = nullptr;
  sqlite3_vfs_register(&faulty, 1);
}

FaultyVfs::~FaultyVfs() {
  disarm();
  sqlite3_vfs_unregister(&faulty);
  sqlite3_vfs_register(real, 1);
}

void FaultyVfs::arm(Operation operation, Fault fault, int64_t nth, bool for_ever) {
  plan.operation = operation;
  plan.fault = fault;
  plan.for_ever = for_ever;
  plan.countdown = nth;
  plan.struck = false;
  plan.armed = true;
}

void FaultyVfs::disarm() {
  plan.armed = false;
}

bool FaultyVfs::has_struck() const {
  return plan.struck;
}

bool FaultyVfs::dies_at(int64_t nth, const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    arm(Operation::any, Fault::death, nth, false);
    try {
      action();
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) REQUIRE(WEXITSTATUS(status) == 0);
  return !WIFEXITED(status);
}

}  // namespace exprun
