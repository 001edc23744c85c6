// c10d's store asks the DNS for the name of whoever connects, on both sides, only to print it.
// Where the DNS is slow, or answers nothing for addresses of a cluster or of loopback, each
// connection stands still for five seconds or more, and rank 0's store with it: ranks that live
// would be taken for gone. So the linker finds this function before the C library's: peers are
// printed by address.
#include <dlfcn.h>
#include <netdb.h>

extern "C" int getnameinfo(const sockaddr* address, socklen_t address_size, char* host,
                           socklen_t host_size, char* service, socklen_t service_size, int flags) {
  static const auto of_libc =
      reinterpret_cast<decltype(&getnameinfo)>(::dlsym(RTLD_NEXT, "getnameinfo"));
  return of_libc(address, address_size, host, host_size, service, service_size,
                 flags | NI_NUMERICHOST);
}
