// What is special about a folder: links, permissions, foreign names, crashes. Everything any
// storage must do is in tests/files_conformance; a full disk is in directory_full_test.cc.

#include "files/directory/directory_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "files/directory/folder_for_test.h"

namespace waybill::files {
namespace {

namespace fs = std::filesystem;
using base::ErrorCategory;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names_in(Files& files, bool hidden) {
  std::vector<std::string> names;
  EXPECT_TRUE(files
                  .list([&](const Listed& entry) {
                    if (entry.hidden == hidden) names.push_back(entry.key);
                    return true;
                  })
                  .ok());
  return names;
}

void write_plainly(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_plainly(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
ErrorCategory category(const base::Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorCategory::kTimeout : result.error().category;
}

class DirectoryFilesTest : public ::testing::Test {
 protected:
  DirectoryFilesTest() : files_(connect()) {}

  std::unique_ptr<Files> connect() { return open_directory(folder_.path(), random_).value(); }

  FolderForTest folder_;
  base::SystemRandom random_;
  std::unique_ptr<Files> files_;
};

TEST_F(DirectoryFilesTest, OpeningSaysWhatIsWrongWithTheFolder) {
  const auto message = [&](const std::string& path) {
    const auto files = open_directory(path, random_);
    EXPECT_FALSE(files.ok()) << path;
    if (files.ok()) return std::string();
    EXPECT_EQ(files.error().category, ErrorCategory::kInvalid);
    EXPECT_EQ(files.error().field, "files.directory.path");
    return files.error().message;
  };
  EXPECT_THAT(message(folder_.path() + "/absent"), HasSubstr("does not exist"));
  write_plainly(folder_.path() + "/file", "x");
  EXPECT_THAT(message(folder_.path() + "/file"), HasSubstr("is not a folder"));
  EXPECT_THAT(message(folder_.path() + "/file/below"), HasSubstr("is not a folder"));
  EXPECT_THAT(message(""), HasSubstr("empty"));
  EXPECT_THAT(message(std::string("/tmp\0x", 6)), HasSubstr("NUL"));
}

TEST_F(DirectoryFilesTest, AFolderWithoutPermissionIsNamedAsThat) {
  ASSERT_TRUE(store(*files_, "exports/1/f", "kept").ok());
  const std::string problem = in_child(
      [&]() -> std::string {
        // The owner of everything ignores permissions, so become nobody.
        if (::geteuid() == 0 && ::setuid(65'534) != 0) return "setuid";
        const auto denied = [](const auto& result) {
          return !result.ok() && result.error().category == ErrorCategory::kUnavailable &&
                 result.error().message.find("no permission") != std::string::npos;
        };
        if (!denied(files_->create("exports/1/g"))) return "create below a folder";
        if (!denied(files_->create("new/g"))) return "create with a new folder";
        if (!denied(files_->check_writable())) return "check_writable";
        if (!denied(files_->storage_id())) return "storage_id";
        if (!denied(files_->remove("exports/1/f"))) return "remove";
        if (load(*files_, "exports/1/f") != "kept") return "reading";
        if (!files_->size("exports/1/f").ok()) return "size";
        return "";
      },
      [&] {
        for (const char* part : {"", "/exports", "/exports/1"})
          ::chmod((folder_.path() + part).c_str(), 0555);
        ::chmod((folder_.path() + "/exports/1/f").c_str(), 0444);
      });
  for (const char* part : {"", "/exports", "/exports/1"})
    ::chmod((folder_.path() + part).c_str(), 0755);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(load(*files_, "exports/1/f"), "kept");
}

TEST_F(DirectoryFilesTest, ARemovedFolderProvesNothingAbsent) {
  ASSERT_TRUE(store(*files_, "exports/1/f", "x").ok());
  fs::remove_all(folder_.path());
  EXPECT_EQ(category(files_->size("exports/1/f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->open("exports/1/f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->remove("exports/1/f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->size("f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->open("f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->remove("f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->create("exports/1/f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->create("f")), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->check_writable()), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->storage_id()), ErrorCategory::kUnavailable);
  EXPECT_EQ(category(files_->list([](const Listed&) { return true; })),
            ErrorCategory::kUnavailable);
}

// D113
TEST_F(DirectoryFilesTest, NoPlantedLinkLeadsOut) {
  const FolderForTest outside;
  const std::string canary = outside.path() + "/canary";
  write_plainly(canary, "untouched");
  fs::create_directory(folder_.path() + "/exports");
  fs::create_directory_symlink(outside.path(), folder_.path() + "/linked");
  fs::create_directory_symlink(outside.path(), folder_.path() + "/exports/linked");
  fs::create_symlink(canary, folder_.path() + "/canary");
  fs::create_symlink(outside.path() + "/absent", folder_.path() + "/dangling");
  fs::create_symlink("loop", folder_.path() + "/loop");

  for (const char* key : {"canary", "linked/canary", "exports/linked/canary", "loop", "loop/x"}) {
    EXPECT_EQ(category(files_->open(key)), ErrorCategory::kInternal) << key;
    EXPECT_EQ(category(files_->size(key)), ErrorCategory::kInternal) << key;
    EXPECT_EQ(category(files_->create(key)), ErrorCategory::kInternal) << key;
  }
  EXPECT_EQ(category(files_->create("linked/new")), ErrorCategory::kInternal);
  EXPECT_EQ(category(files_->create("linked/deeper/new")), ErrorCategory::kInternal);
  EXPECT_EQ(category(files_->create("dangling")), ErrorCategory::kInternal);
  EXPECT_EQ(category(files_->remove("linked/canary")), ErrorCategory::kInternal);
  EXPECT_EQ(
      category(files_->remove_hidden("linked/.waybill-7f9c24e8-3b12-4fef-91e0-8a3f0d1c2b3a.tmp")),
      ErrorCategory::kInternal);
  EXPECT_THAT(files_->open("canary").error().message, HasSubstr("symbolic link"));
  // A link at the very place of a file is removed itself, never what it points to.
  EXPECT_TRUE(files_->remove("canary").ok());
  EXPECT_TRUE(files_->remove("dangling").ok());
  EXPECT_THAT(names_in(*files_, false), IsEmpty());
  EXPECT_EQ(read_plainly(canary), "untouched");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside.path()), {}), 1);
}

// D113
TEST_F(DirectoryFilesTest, AFolderExchangedForALinkMeanwhileDoesNotLeadOut) {
  const FolderForTest outside;
  auto sink = files_->create("exports/1/f");
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write("x").ok());
  fs::rename(folder_.path() + "/exports/1", folder_.path() + "/moved");
  fs::create_directory_symlink(outside.path(), folder_.path() + "/exports/1");
  static_cast<void>((*sink)->commit());
  EXPECT_TRUE(fs::is_empty(outside.path()));
}

TEST_F(DirectoryFilesTest, TheStorageFolderItselfMayBeReachedThroughALink) {
  const FolderForTest other;
  const std::string link = other.path() + "/link";
  fs::create_directory_symlink(folder_.path(), link);
  auto files = open_directory(link, random_);
  ASSERT_TRUE(files.ok());
  ASSERT_TRUE(store(**files, "exports/1/f", "x").ok());
  EXPECT_EQ(load(*files_, "exports/1/f"), "x");
}

TEST_F(DirectoryFilesTest, APipeIsNoFileAndHangsNobody) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/pipe").c_str(), 0644), 0);
  EXPECT_EQ(category(files_->open("pipe")), ErrorCategory::kNotFound);
  EXPECT_EQ(category(files_->size("pipe")), ErrorCategory::kNotFound);
  EXPECT_THAT(names_in(*files_, false), IsEmpty());
}

TEST_F(DirectoryFilesTest, FilesAndFoldersAreNotMixedUp) {
  ASSERT_TRUE(store(*files_, "exports/1", "a file").ok());
  EXPECT_EQ(category(files_->create("exports/1/f")), ErrorCategory::kConflict);
  EXPECT_EQ(category(files_->create("exports")), ErrorCategory::kConflict);
  EXPECT_EQ(category(files_->open("exports")), ErrorCategory::kNotFound);
  EXPECT_EQ(category(files_->size("exports")), ErrorCategory::kNotFound);
  EXPECT_EQ(category(files_->open("exports/1/f")), ErrorCategory::kNotFound);
  EXPECT_TRUE(files_->remove("exports/1/f").ok());
  EXPECT_TRUE(files_->remove("exports").ok());
  EXPECT_EQ(load(*files_, "exports/1"), "a file");
}

TEST_F(DirectoryFilesTest, ForeignNamesAreNeverListed) {
  ASSERT_TRUE(files_->storage_id().ok());
  fs::create_directory(folder_.path() + "/lost+found");
  write_plainly(folder_.path() + "/lost+found/x", "foreign");
  fs::create_directory(folder_.path() + "/.snapshot");
  write_plainly(folder_.path() + "/.snapshot/x", "foreign");
  for (const char* name : {"/.nfs000012", "/note~", "/.waybill-not-a-uuid.tmp", "/.waybill-.tmp",
                           "/a b", "/.waybill-7f9c24e8-3b12-4fef-91e0-8a3f0d1c2b3a.bak"}) {
    write_plainly(folder_.path() + name, "foreign");
  }
  fs::create_directory(folder_.path() + "/.waybill-7f9c24e8-3b12-4fef-91e0-8a3f0d1c2b3a.tmp");
  ASSERT_TRUE(store(*files_, "exports/1/f", "x").ok());
  EXPECT_THAT(names_in(*files_, false), UnorderedElementsAre("exports/1/f"));
  EXPECT_THAT(names_in(*files_, true), IsEmpty());
}

TEST_F(DirectoryFilesTest, FoldersGoWithTheirLastFile) {
  ASSERT_TRUE(store(*files_, "exports/1/f", "x").ok());
  ASSERT_TRUE(store(*files_, "exports/2/f", "x").ok());
  ASSERT_TRUE(files_->remove("exports/1/f").ok());
  EXPECT_FALSE(fs::exists(folder_.path() + "/exports/1"));
  EXPECT_TRUE(fs::exists(folder_.path() + "/exports/2"));
  ASSERT_TRUE(files_->remove("exports/2/f").ok());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(DirectoryFilesTest, ADamagedOrPlantedMarkerIsReported) {
  write_plainly(folder_.path() + "/.waybill-storage", "short");
  EXPECT_EQ(category(files_->storage_id()), ErrorCategory::kInternal);
  fs::remove(folder_.path() + "/.waybill-storage");
  const FolderForTest outside;
  write_plainly(outside.path() + "/id", "7f9c24e8-3b12-4fef-91e0-8a3f0d1c2b3a");
  fs::create_symlink(outside.path() + "/id", folder_.path() + "/.waybill-storage");
  EXPECT_EQ(category(files_->storage_id()), ErrorCategory::kInternal);
}

TEST_F(DirectoryFilesTest, ProcessesAgreeOnOneIdentity) {
  constexpr int kProcesses = 6;
  int gate[2];
  int answers[2];
  ASSERT_EQ(::pipe(gate), 0);
  ASSERT_EQ(::pipe(answers), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(gate[1]);
      base::SeededRandom random(static_cast<std::uint64_t>(i) + 1);
      auto files = open_directory(folder_.path(), random);
      char go = 0;
      static_cast<void>(
          !::read(gate[0], &go, 1));  // ends for all at once, when the parent closes the gate
      const auto id =
          files.ok() ? (*files)->storage_id() : base::Result<std::string>(files.error());
      const std::string text = id.ok() ? *id : std::string(36, '!');
      ::_exit(::write(answers[1], text.data(), text.size()) == 36 ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  ::close(answers[1]);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> ids;
  char id[36];
  while (::read(answers[0], id, sizeof id) == sizeof id) ids.insert(std::string(id, sizeof id));
  ::close(answers[0]);
  EXPECT_THAT(ids, UnorderedElementsAre(*files_->storage_id()));
  EXPECT_TRUE(base::is_uuid(*ids.begin()));
  EXPECT_THAT(names_in(*files_, true), IsEmpty());
}

TEST_F(DirectoryFilesTest, ACrashBeforeCommitLeavesOnlyAHiddenFile) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto sink = files_->create("exports/1/f");
    if (sink.ok() && (*sink)->write(std::string(1'000'000, 'x')).ok()) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(names_in(*files_, false), IsEmpty());
  const std::vector<std::string> hidden = names_in(*files_, true);
  ASSERT_EQ(hidden.size(), 1u);
  EXPECT_THAT(hidden[0], HasSubstr("exports/1/.waybill-"));
  EXPECT_EQ(category(files_->open("exports/1/f")), ErrorCategory::kNotFound);
  ASSERT_TRUE(store(*files_, "exports/1/f", "again").ok());  // the key is free
  ASSERT_TRUE(files_->remove_hidden(hidden[0]).ok());
  EXPECT_THAT(names_in(*files_, true), IsEmpty());
}

TEST_F(DirectoryFilesTest, KilledAtAnyMomentEveryVisibleFileIsWhole) {
  constexpr std::size_t kBytes = 300'000;
  for (const int files_before_kill : {1, 3, 7, 20}) {
    int progress[2];
    ASSERT_EQ(::pipe(progress), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; ++i) {
        const std::string key =
            "exports/" + std::to_string(files_before_kill) + "/" + std::to_string(i);
        if (!store(*files_, key, std::string(kBytes, 'w')).ok()) ::_exit(1);
        if (::write(progress[1], "x", 1) != 1) ::_exit(1);
      }
    }
    ::close(progress[1]);
    char tick = 0;
    for (int i = 0; i < files_before_kill; ++i) ASSERT_EQ(::read(progress[0], &tick, 1), 1);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(progress[0]);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_GE(names_in(*files_, false).size(), static_cast<std::size_t>(files_before_kill));
    for (const std::string& key : names_in(*files_, false)) {
      EXPECT_TRUE(load(*files_, key) == std::string(kBytes, 'w')) << key;
      ASSERT_TRUE(files_->remove(key).ok());
    }
    for (const std::string& name : names_in(*files_, true))
      ASSERT_TRUE(files_->remove_hidden(name).ok());
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  }
}

// D95
TEST_F(DirectoryFilesTest, AFileThatIsCutWhileReadNeverLooksComplete) {
  ASSERT_TRUE(store(*files_, "f", std::string(100'000, 'x')).ok());
  auto source = files_->open("f");
  ASSERT_TRUE(source.ok());
  fs::resize_file(folder_.path() + "/f", 10);
  std::string buffer(1'000, '\0');
  EXPECT_EQ(category((*source)->read(0, buffer)), ErrorCategory::kUnavailable);
  EXPECT_EQ(category((*source)->read(50'000, buffer)), ErrorCategory::kUnavailable);
}

// D120
TEST_F(DirectoryFilesTest, WithoutDescriptorsItFailsAndRecovers) {
  ASSERT_TRUE(store(*files_, "exports/1/f", "x").ok());
  const std::string problem = in_child([&]() -> std::string {
    // Once with descriptors: sanitizers look at new types through a pipe.
    if (!files_->storage_id().ok() || !files_->check_writable().ok()) return "before";
    if (!store(*files_, "exports/2/f", "z").ok()) return "before";
    if (load(*files_, "exports/2/f") != "z") return "before";
    if (!files_->remove("exports/2/f").ok()) return "before";
    if (!files_->list([](const Listed&) { return true; }).ok()) return "before";
    std::vector<int> hoard;
    const rlimit few{64, 64};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return "setrlimit";
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) hoard.push_back(fd);
    const auto unavailable = [](const auto& result) {
      return !result.ok() && result.error().category == ErrorCategory::kUnavailable;
    };
    if (!unavailable(files_->create("exports/1/g"))) return "create";
    if (!unavailable(files_->open("exports/1/f"))) return "open";
    if (!unavailable(files_->remove("exports/1/f"))) return "remove";
    if (!unavailable(files_->list([](const Listed&) { return true; }))) return "list";
    if (!unavailable(files_->storage_id())) return "storage_id";
    if (!unavailable(files_->check_writable())) return "check_writable";
    for (const int fd : hoard) ::close(fd);
    if (load(*files_, "exports/1/f") != "x") return "reading afterwards";
    return store(*files_, "exports/1/g", "y").ok() ? "" : "writing afterwards";
  });
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace waybill::files
