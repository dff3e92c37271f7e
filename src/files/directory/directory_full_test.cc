// The directory driver on storage that takes no more: every failure is transient, says how much is
// free, and leaves neither a short file nor used space behind.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "files/directory/directory_files.h"
#include "files/directory/folder_for_test.h"

namespace waybill::files {
namespace {

using base::ErrorCategory;

bool says(const base::Status& status, std::string_view why) {
  return !status.ok() && status.error().category == ErrorCategory::kUnavailable &&
         status.error().message.find(why) != std::string::npos;
}

// Writes until the storage refuses; gives up after `most` bytes.
base::Status fill(Sink& sink, std::size_t most) {
  const std::string piece(10'000, 'f');
  for (std::size_t written = 0; written < most; written += piece.size()) {
    WAYBILL_TRY(sink.write(piece));
  }
  return {};
}

std::size_t entries(Files& files) {
  std::size_t count = 0;
  const base::Status listed = files.list([&](const Listed&) {
    ++count;
    return true;
  });
  return listed.ok() ? count : ~std::size_t{0};
}

TEST(DirectoryFull, TheLimitForOneFileIsATransientError) {
  const FolderForTest folder;
  base::SystemRandom random;
  const auto files = open_directory(folder.path(), random).value();
  const std::string problem = in_child([&]() -> std::string {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1u << 20, 1u << 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return "setrlimit";
    {
      auto sink = files->create("exports/1/f");
      if (!sink.ok()) return sink.error().message;
      const base::Status filled = fill(**sink, 16u << 20);
      if (!says(filled, "limit for one file") || !says(filled, " free)")) return "write";
      if (!says((*sink)->write("more"), "limit for one file")) return "write after failure";
      if (!says((*sink)->commit(), "limit for one file")) return "commit after failure";
    }
    if (entries(*files) != 0) return "something was left";
    return store(*files, "exports/1/f", "fits").ok() ? "" : "recovery";
  });
  EXPECT_EQ(problem, "");
  EXPECT_EQ(load(*files, "exports/1/f"), "fits");
}

TEST(DirectoryFull, ACommitThatCannotWriteTheRestShowsNothing) {
  const FolderForTest folder;
  base::SystemRandom random;
  const auto files = open_directory(folder.path(), random).value();
  const std::string problem = in_child([&]() -> std::string {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return "setrlimit";
    auto sink = files->create("exports/1/f");
    if (!sink.ok()) return sink.error().message;
    if (!(*sink)->write(std::string(150'000, 'x')).ok()) return "still in the buffer";
    if (!says((*sink)->commit(), "limit for one file")) return "commit";
    const auto size = files->size("exports/1/f");
    if (size.ok() || size.error().category != ErrorCategory::kNotFound)
      return "a torn file is visible";
    return "";
  });
  EXPECT_EQ(problem, "");
}

// `body` with a private small memory disk mounted at `path`; skipped where the machine does not
// allow that.
std::string on_small_disk(const std::string& path, const std::function<std::string()>& body) {
  return in_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0) return "skip";
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "skip";
    if (::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m") != 0) return "skip";
    return body();
  });
}

TEST(DirectoryFull, AFullDiskIsATransientErrorAndItsSpaceComesBack) {
  const FolderForTest folder;
  const std::string problem = on_small_disk(folder.path(), [&]() -> std::string {
    base::SystemRandom random;
    const auto files = open_directory(folder.path(), random).value();
    if (!store(*files, "old", std::string(100'000, 'o')).ok()) return "before";
    const auto free_before = files->free_bytes();
    auto sink = files->create("exports/1/f");
    if (!sink.ok()) return sink.error().message;
    const base::Status filled = fill(**sink, 16u << 20);
    if (!says(filled, "no space left on the storage (0 bytes free)")) {
      return filled.ok() ? "write" : filled.error().message;
    }
    if (!says(files->check_writable(), "no space left")) return "check_writable";
    if (!says(store(*files, "exports/2/f", std::string(300'000, 'x')), "no space left"))
      return "another";
    if (load(*files, "old") != std::string(100'000, 'o')) return "reading a full disk";
    if (entries(*files) != 2) return "only the old file and the hidden one";
    (*sink)->abort();
    if (*files->free_bytes() != *free_before) return "space did not come back";
    if (!files->check_writable().ok()) return "check_writable afterwards";
    if (!store(*files, "exports/1/f", "fits").ok()) return "recovery";
    return files->remove("old").ok() ? "" : "removal";
  });
  if (problem == "skip") GTEST_SKIP() << "this user may not mount a memory disk";
  EXPECT_EQ(problem, "");
}

TEST(DirectoryFull, AReadOnlyMountIsNamedAsThat) {
  const FolderForTest folder;
  const std::string problem = on_small_disk(folder.path(), [&]() -> std::string {
    base::SystemRandom random;
    const auto files = open_directory(folder.path(), random).value();
    if (!store(*files, "exports/1/f", "kept").ok()) return "before";
    if (::mount(nullptr, folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return "skip";
    const auto create = files->create("exports/1/g");
    if (create.ok() || !says(create.error(), "mounted read-only")) return "create";
    if (!says(files->check_writable(), "mounted read-only")) return "check_writable";
    if (!says(files->remove("exports/1/f"), "mounted read-only")) return "remove";
    return load(*files, "exports/1/f") == "kept" ? "" : "reading";
  });
  if (problem == "skip") GTEST_SKIP() << "this user may not mount a memory disk";
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace waybill::files
