// A folder of the user's own that data are made in: where it is, and what may be replaced there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace exprun {

inline constexpr const char* kDataDescription = "data.json";  // PreparedData, in its folder
inline constexpr const char* kVocabularyFolder = "vocabulary";

// The folder that `written` means: absolute, links followed (the last one to what may not be there
// yet), no slash at its end. Throws Error for the working directory, which cannot be replaced.
std::filesystem::path output_directory(const std::filesystem::path& written);

// A name below a set's folder for which the set would not be replaced: it is not in the manifest,
// or a link. Throws std::filesystem::filesystem_error.
std::optional<std::string> unlisted_file(const std::filesystem::path& folder);

// Removes the older set that a kill right after it was replaced left at partial_folder(folder),
// unless somebody prepares there. What cannot be removed stays, silently.
void remove_replaced(const std::filesystem::path& folder);

// Only what exprun data prepare made alone is replaced, and only what it began alone is gone on
// with. Throws Error where anything else stands at `folder` or partial_folder(folder).
void refuse_foreign(const std::filesystem::path& folder);

// Once more before `folder` is replaced, of what others put there since. Throws Error.
void refuse_put_there(const std::filesystem::path& folder, bool can_be_called_again = true);

// Then, of what is replaced: says why, if it is a set.
void tell_what_is_replaced(const std::filesystem::path& folder);

// Warns of what others put into the older set even later: it is in partial_folder(folder) then.
void tell_what_was_kept(const std::filesystem::path& folder);

}  // namespace exprun
