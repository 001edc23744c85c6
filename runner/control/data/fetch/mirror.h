// An address that stands in for the https://host of what the catalogue names.
#pragma once

#include <string>

namespace exprun {

struct Mirror {
  std::string address;   // empty: none
  std::string named_by;  // the option or the variable

  // `option` goes before `variable`, which may be null. Throws Error where the address is of
  // another scheme than http and https; it may have none.
  static Mirror of(const std::string& option, const char* variable);

  // "https://host/path" becomes "<mirror>/path".
  std::string stands_for(const std::string& address) const;
  // What to do where its source is of no use.
  std::string elsewhere() const;
  // Why what arrives may be wrong, and what to do. `is_usable`: not what was published, but it may
  // be a newer version of it.
  std::string suspicion(bool is_usable) const;
};

}  // namespace exprun
