#include "control/data/read/packing.h"

#include "base/diagnostic.h"
#include "control/data/read/extension.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

struct UnreadPacking {
  std::string_view first;
  const char* name;
};

// bzip2: any digit for the size of its blocks stands before the first block's or the end's mark.
constexpr UnreadPacking kUnread[] = {
    {{"\xfd\x37zXZ\0", 6}, "xz"}, {"\x04\x22\x4d\x18", "lz4"},     {"PK\x03\x04", "zip"},
    {"PK\x05\x06", "zip"},        {"7z\xbc\xaf\x27\x1c", "7-Zip"}, {"\x1f\x9d", "compress"},
};

bool is_bzip2(std::string_view first) {
  if (!first.starts_with("BZh") || first.size() < kPackingBytes) return false;
  const std::string_view mark = first.substr(4, 6);
  return mark == "\x31\x41\x59\x26\x53\x59" || mark == "\x17\x72\x45\x38\x50\x90";
}

const char* unread_packing(std::string_view first) {
  for (const UnreadPacking& packing : kUnread)
    if (first.starts_with(packing.first)) return packing.name;
  return is_bzip2(first) ? "bzip2" : nullptr;
}

// A skippable frame (RFC 8878, 3.1.2) is what parallel packers begin with.
bool is_zstd(std::string_view first) {
  const bool skippable = first.size() >= 4 && (first[0] & 0xf0) == 0x50;
  return first.starts_with("\x28\xb5\x2f\xfd") ||
         (skippable && first.substr(1).starts_with("\x2a\x4d\x18"));
}

}  // namespace

Packing checked_packing(std::string_view first, const fs::path& file) {
  if (first.starts_with("\x1f\x8b")) return Packing::gzip;
  if (is_zstd(first)) return Packing::zstd;
  const std::string shown = "data: '" + file.string() + "' ";
  if (const char* name = unread_packing(first))
    throw Error(shown + "is packed by " + name +
                ", which is not read; unpack it, or pack it again with gzip or zstd");
  if (is_named_packed(file))
    throw Error(shown +
                "is neither gzip nor zstd, as its name says; fetch or make it again, or "
                "rename it if it is not packed");
  return Packing::none;
}

}  // namespace exprun
