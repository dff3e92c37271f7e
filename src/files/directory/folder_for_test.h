// Helpers of the directory driver's tests.

#ifndef WAYBILL_FILES_DIRECTORY_FOLDER_FOR_TEST_H_
#define WAYBILL_FILES_DIRECTORY_FOLDER_FOR_TEST_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "files/files.h"

namespace waybill::files {

// An empty folder that goes with the object.
class FolderForTest {
 public:
  FolderForTest()
      : path_((std::filesystem::temp_directory_path() / "waybill-files-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~FolderForTest() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  FolderForTest(const FolderForTest&) = delete;
  FolderForTest& operator=(const FolderForTest&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline base::Status store(Files& files, const std::string& key, std::string_view bytes) {
  WAYBILL_ASSIGN(const std::unique_ptr<Sink> sink, files.create(key));
  WAYBILL_TRY(sink->write(bytes));
  return sink->commit();
}

inline std::string load(Files& files, const std::string& key) {
  auto source = files.open(key);
  if (!source.ok()) return "error: " + source.error().message;
  std::string bytes((*source)->size(), '\0');
  const auto got = (*source)->read(0, bytes);
  if (!got.ok()) return "error: " + got.error().message;
  bytes.resize(*got);
  return bytes;
}

// Runs `body` in a process of its own, where it may give up rights or set limits, and returns what
// it returned. `prepare` runs first, still with all rights.
inline std::string in_child(
    const std::function<std::string()>& body, const std::function<void()>& prepare = [] {}) {
  int answer[2];
  if (::pipe(answer) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no process";
  if (child == 0) {
    prepare();
    const std::string problem = body();
    const bool told =
        ::write(answer[1], problem.data(), problem.size()) == static_cast<ssize_t>(problem.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(answer[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(answer[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(answer[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    return "the child process died: " + text;
  return text;
}

}  // namespace waybill::files

#endif  // WAYBILL_FILES_DIRECTORY_FOLDER_FOR_TEST_H_
