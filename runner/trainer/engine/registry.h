// Components by name. A component's .cpp ends in
//   const Register<Schedule> registration{"cosine", build};
// and is linked as an object file, so nothing else has to know it. Names equal schema files.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace exprun {

// One registry a kind; `Component::Factory` is the type of `build`.
template <class Component>
class Registry {
 public:
  using Factory = typename Component::Factory;

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  // A duplicate name is a programming error, refused at start-up.
  void add(const std::string& name, Factory build) {
    if (!factories_.emplace(name, build).second)
      throw std::logic_error("registry: two components are named '" + name + "'");
  }

  // The schema admits registered names only, so a missing one is a programming error.
  Factory find(const std::string& name) const {
    const auto found = factories_.find(name);
    if (found == factories_.end())
      throw std::logic_error("registry: no component is named '" + name + "'");
    return found->second;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, build] : factories_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, Factory> factories_;
};

template <class Component>
struct Register {
  Register(const char* name, typename Component::Factory build) {
    Registry<Component>::instance().add(name, build);
  }
};

}  // namespace exprun
