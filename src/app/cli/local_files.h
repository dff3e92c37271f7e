// Files that a command writes on this machine: a hidden name first, the real name at the end.

#ifndef WAYBILL_APP_CLI_LOCAL_FILES_H_
#define WAYBILL_APP_CLI_LOCAL_FILES_H_

#include <string>
#include <string_view>

namespace waybill::app::cli {

// "." for a path without one.
std::string folder_of(const std::string& path);

// Where a link leads, to its end; any other path as it is.
std::string behind_links(const std::string& path);

// Both return 0 or errno.
int write_all(int file, std::string_view bytes);
// Syncs `file`, which is open as `from`, and renames it to `to`, over what is there.
int publish_file(int file, const std::string& from, const std::string& to);

// A new file that exists only when it is complete. Not thread-safe.
class NewFile {
 public:
  NewFile() = default;
  ~NewFile();  // removes what was not published
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // A hidden file beside `path`, or beside what it links to. It has the mode of the file that it
  // will replace, else what the umask leaves. All return 0 or errno.
  int open(const std::string& path);
  int write(std::string_view bytes) { return write_all(file_, bytes); }
  int publish();
  // For reading back. REQUIRES: open() succeeded.
  [[nodiscard]] const std::string& hidden_path() const { return hidden_; }

 private:
  int file_ = -1;
  std::string path_;
  std::string hidden_;
};

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_LOCAL_FILES_H_
