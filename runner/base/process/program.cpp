#include "base/process/program.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <span>
#include <string_view>
#include <system_error>

namespace exprun {
namespace {

namespace fs = std::filesystem;

using Header = ElfW(Nhdr);

size_t padded(size_t size) {
  constexpr size_t kAlignment = 4;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// Of a segment of notes.
std::string build_id_in(std::string_view notes) {
  while (notes.size() >= sizeof(Header)) {
    Header header;
    std::memcpy(&header, notes.data(), sizeof header);
    const size_t name = sizeof header, id = name + padded(header.n_namesz);
    const size_t end = id + padded(header.n_descsz);
    if (end > notes.size()) break;
    if (header.n_type == NT_GNU_BUILD_ID && notes.substr(name).starts_with("GNU"))
      return std::string(notes.substr(id, header.n_descsz));
    notes.remove_prefix(end);
  }
  return "";
}

// The program comes first of all objects: the others are not looked at.
int find_build_id(dl_phdr_info* program, size_t, void* found) {
  auto& id = *static_cast<std::string*>(found);
  for (const auto& segment : std::span(program->dlpi_phdr, program->dlpi_phnum))
    if (segment.p_type == PT_NOTE && id.empty())
      id = build_id_in(
          {reinterpret_cast<const char*>(program->dlpi_addr + segment.p_vaddr), segment.p_memsz});
  return 1;
}

}  // namespace

fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

std::string own_build() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

const char* version() {
  return EXPRUN_VERSION;  // from CMakeLists.txt
}

}  // namespace exprun
