// Folders that appear whole or not at all, and the manifest by which they are known to be whole:
// checkpoints and prepared data.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace exprun {

// MANIFEST.json: size and XXH3-128 of every file of a folder. It is written last, so a folder
// without a valid manifest does not exist.

inline constexpr const char* kManifestName = "MANIFEST.json";

// XXH3-128 by a file's name in the folder.
using FileHashes = std::map<std::string, std::string>;

// The text of the folder's manifest, of every regular file below it but the one named `left_out`.
// A file whose hash is not known is read. Throws Error.
std::string manifest_of(const std::filesystem::path& folder, const std::string& left_out = "",
                        const FileHashes& known = {});

// The names, below the folder, that its manifest lists; none without a valid manifest.
std::set<std::string> listed_files(const std::filesystem::path& folder);

// What of the files is compared with the manifest. `changed`: their sizes, and the hashes of those
// that were written after it. Where they are as it says, such as copies, it counts as written after
// them, so that they are not read again; where that cannot be kept, a process reads each once. An
// edit that leaves a file's time before the manifest's is not seen, as only `hashes` would.
enum class Verify { sizes, changed, hashes };

// What is wrong with the folder ("model.safetensors has 12 bytes, the manifest says 40"),
// or nothing.
std::optional<std::string> manifest_problem(const std::filesystem::path& folder, Verify verify);

struct ManifestProblem {
  std::string file;  // its name in the folder
  std::string what;  // after it: "has other content than the manifest says"
};

// Of all files that it lists, or of those named `only`; of the manifest itself where that is
// missing or damaged. Throws Error for one that cannot be read.
std::vector<ManifestProblem> manifest_problems(const std::filesystem::path& folder, Verify verify,
                                               const std::set<std::string>& only = {});

// What becomes of a folder of the same name that is not empty.
enum class Existing { replaced, refused };

// Fill `path()`, then `commit()`. Without commit it is removed.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path target);  // makes "<target>.tmp-<pid>"
  // Filled at partial_folder(target), which stays where it is not committed, as another process
  // left it: for work that goes on. Call it only under the lock that keeps other writers out.
  static AtomicFolder resumable(std::filesystem::path target);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_; }

  // The name to take, where it is known only now: beside the first one.
  void rename_target(std::filesystem::path target) { target_ = std::move(target); }

  // Of files that are durable and stay as they are: commit() neither reads nor syncs them.
  void know(FileHashes hashes) { known_ = std::move(hashes); }

  // Syncs every other file, writes the manifest last, renames, syncs the parent. A
  // file named `progress`, with which work goes on, stays until all else is durable. Throws
  // FileError; a resumable folder then stays at `path()`.
  void commit(const std::string& progress = "", Existing existing = Existing::replaced);

 private:
  AtomicFolder(std::filesystem::path target, std::filesystem::path temporary, bool stays);

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool stays_;  // after this object
  FileHashes known_;
};

// "<target>.partial"
std::filesystem::path partial_folder(const std::filesystem::path& target);

// The folder that an unfinished one becomes.
std::filesystem::path committed_folder(const std::filesystem::path& unfinished);

// Whether a name is that of an AtomicFolder before its commit.
bool is_unfinished_folder(const std::filesystem::path& folder);

// What cannot be removed stays, silently. A kill on the way leaves the folder known by its
// manifest, or by the file that `known_by` names: these go last.
void remove_known_folder(const std::filesystem::path& folder, const std::string& known_by = "");

// Removes what killed processes left of AtomicFolders in `parent`, those excepted that can be gone
// on with. Call it only under the lock that keeps other writers out of `parent`.
void remove_unfinished_folders(const std::filesystem::path& parent);

}  // namespace exprun
