#include "store/end_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/files/file.h"
#include "base/json_text.h"
#include "store/checked_line.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr size_t kRoom = 4096;
constexpr size_t kLongestMessage = 3000;  // in JSON a character may take six

json to_json(const std::optional<int>& value) {
  return value ? json(*value) : json();
}

std::optional<int> number_at(const json& object, const char* key) {
  if (object.at(key).is_null()) return std::nullopt;
  return object.at(key).get<int>();
}

// As much of the message as there is room for.
std::string line_of(const EndRecord& record) {
  for (size_t length = std::min(record.message.size(), kLongestMessage);; length /= 2) {
    const json object = {
        {"attempt", record.attempt},        {"state", to_string(record.state)},
        {"ended_ms", record.ended_ms},      {"exit_code", to_json(record.exit_code)},
        {"signal", to_json(record.signal)}, {"message", record.message.substr(0, length)}};
    std::string line = checked_line(json_text(object, -1, NotUtf8::replaced));
    if (line.size() <= kRoom) return line;
  }
}

EndRecord record_from(const json& object) {
  return {object.at("attempt"),          object.at("ended_ms"),
          run_state(object.at("state")), number_at(object, "exit_code"),
          number_at(object, "signal"),   object.at("message")};
}

}  // namespace

void reserve_end_record(int lock) {
  // Written, not only allocated: some file systems cannot allocate, and others allocate on writing.
  const std::string room(kRoom, '\n');
  if (::pwrite(lock, room.data(), room.size(), 0) == static_cast<ssize_t>(kRoom)) ::fdatasync(lock);
}

void write_end_record(int lock, const EndRecord& record, const std::filesystem::path& lock_file) {
  const std::string line = line_of(record);
  ::lseek(lock, 0, SEEK_SET);
  write_all(lock, line.data(), line.size(), lock_file);
  ::fdatasync(lock);
}

std::optional<Error> record_in_store_or_lock_file(const EndRecord& record,
                                                  const std::filesystem::path& lock_file,
                                                  const std::function<void()>& in_store,
                                                  std::optional<int> held) {
  try {
    in_store();
    return std::nullopt;
  } catch (const Error& error) {
    const UniqueFd opened(held ? -1 : ::open(lock_file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!held && !opened) throw;
    write_end_record(held.value_or(opened.get()), record, lock_file);
    return error;
  }
}

std::optional<EndRecord> end_record(const std::filesystem::path& lock_file, int64_t attempt) {
  try {
    const std::string text = read_file(lock_file);
    const auto object = json_of_line(std::string_view(text).substr(0, text.find('\n')));
    if (!object) return std::nullopt;
    EndRecord record = record_from(parse_json<json>(*object));
    if (record.attempt != attempt) return std::nullopt;
    return record;
  } catch (const std::exception&) {  // not there, or not ours
    return std::nullopt;
  }
}

}  // namespace exprun
