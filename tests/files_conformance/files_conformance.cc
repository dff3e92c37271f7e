#include "tests/files_conformance/files_conformance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace waybill::files {
namespace {

using base::ErrorCategory;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Bytes that differ everywhere, so that a shifted or doubled part is noticed.
std::string bytes_of(std::size_t size, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(generator() & 0xff);
  return bytes;
}

void store(Files& files, const std::string& key, std::string_view bytes) {
  auto sink = files.create(key);
  ASSERT_TRUE(sink.ok()) << sink.error().message;
  ASSERT_TRUE((*sink)->write(bytes).ok());
  const base::Status committed = (*sink)->commit();
  ASSERT_TRUE(committed.ok()) << committed.error().message;
}

std::string load(Files& files, const std::string& key) {
  auto source = files.open(key);
  if (!source.ok()) return "error: " + source.error().message;
  std::string bytes((*source)->size(), '\0');
  const auto got = (*source)->read(0, bytes);
  if (!got.ok()) return "error: " + got.error().message;
  bytes.resize(*got);
  return bytes;
}

struct Contents {
  std::map<std::string, std::uint64_t> visible;
  std::vector<Listed> hidden;
};

Contents list(Files& files) {
  Contents contents;
  const base::Status listed = files.list([&](const Listed& entry) {
    if (entry.hidden) {
      contents.hidden.push_back(entry);
    } else {
      contents.visible[entry.key] = entry.size;
    }
    return true;
  });
  EXPECT_TRUE(listed.ok());
  return contents;
}

template <class T>
ErrorCategory category(const base::Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorCategory::kInternal : result.error().category;
}

TEST_P(FilesConformance, CommittedFileIsVisibleToEverybodyByteForByte) {
  const std::string bytes = bytes_of(3000017);
  auto sink = files_->create("exports/42/1-a.xlsx");
  ASSERT_TRUE(sink.ok());
  // Pieces of all sizes around the buffers of drivers.
  for (std::size_t at = 0, step = 1; at < bytes.size(); at += step, step = step * 3 + 1) {
    ASSERT_TRUE((*sink)->write(std::string_view(bytes).substr(at, step)).ok());
  }
  ASSERT_TRUE((*sink)->commit().ok());

  EXPECT_EQ(load(*files_, "exports/42/1-a.xlsx"), bytes);
  EXPECT_EQ(load(*other_, "exports/42/1-a.xlsx"), bytes);
  EXPECT_EQ(*other_->size("exports/42/1-a.xlsx"), bytes.size());
  EXPECT_THAT(list(*other_).hidden, IsEmpty());
}

TEST_P(FilesConformance, NothingIsVisibleBeforeCommit) {
  auto sink = files_->create("exports/42/1-a.xlsx");
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(bytes_of(1000000)).ok());
  EXPECT_EQ(category(other_->open("exports/42/1-a.xlsx")), ErrorCategory::kNotFound);
  EXPECT_EQ(category(other_->size("exports/42/1-a.xlsx")), ErrorCategory::kNotFound);
  EXPECT_THAT(list(*other_).visible, IsEmpty());
}

TEST_P(FilesConformance, AnEmptyFileIsAFile) {
  store(*files_, "empty", "");
  EXPECT_EQ(*files_->size("empty"), 0u);
  EXPECT_EQ(load(*files_, "empty"), "");
  auto source = files_->open("empty");
  ASSERT_TRUE(source.ok());
  std::string buffer(10, 'x');
  EXPECT_EQ(*(*source)->read(0, buffer), 0u);
}

TEST_P(FilesConformance, ReadsAnyRange) {
  const std::string bytes = bytes_of(300000);
  store(*files_, "ranges", bytes);
  auto source = files_->open("ranges");
  ASSERT_TRUE(source.ok());
  const std::pair<std::uint64_t, std::size_t> ranges[] = {
      {0, 1}, {0, 300000}, {1, 65536}, {299999, 1}, {150000, 150000}, {65535, 2}};
  for (const auto& [offset, length] : ranges) {
    std::string buffer(length, '\0');
    ASSERT_EQ(*(*source)->read(offset, buffer), length);
    EXPECT_EQ(buffer, bytes.substr(offset, length)) << offset;
  }
  std::string buffer(100, '\0');
  EXPECT_EQ(*(*source)->read(299990, buffer), 10u);  // up to the end
  EXPECT_EQ(*(*source)->read(300000, buffer), 0u);
  EXPECT_EQ(*(*source)->read(~std::uint64_t{0}, buffer), 0u);
  EXPECT_EQ(*(*source)->read(0, std::span<char>()), 0u);
}

TEST_P(FilesConformance, ReadBackSeesEverythingWrittenSoFar) {
  const std::string bytes = bytes_of(700000);
  auto sink = files_->create("exports/1/1-a.xlsx");
  ASSERT_TRUE(sink.ok());
  std::string buffer(10, '\0');
  EXPECT_EQ(*(*sink)->read_back(0, buffer), 0u);
  ASSERT_TRUE((*sink)->write(std::string_view(bytes).substr(0, 5)).ok());
  EXPECT_EQ(*(*sink)->read_back(0, buffer), 5u);
  EXPECT_EQ(buffer.substr(0, 5), bytes.substr(0, 5));
  ASSERT_TRUE((*sink)->write(std::string_view(bytes).substr(5)).ok());
  buffer.resize(bytes.size() + 10);
  EXPECT_EQ(*(*sink)->read_back(0, buffer), bytes.size());
  EXPECT_EQ(buffer.substr(0, bytes.size()), bytes);
  EXPECT_EQ(*(*sink)->read_back(699999, buffer), 1u);
  EXPECT_EQ(buffer[0], bytes.back());
  EXPECT_EQ(*(*sink)->read_back(700001, buffer), 0u);
  // And writing goes on where it stood.
  ASSERT_TRUE((*sink)->write("tail").ok());
  ASSERT_TRUE((*sink)->commit().ok());
  EXPECT_EQ(load(*files_, "exports/1/1-a.xlsx"), bytes + "tail");
}

TEST_P(FilesConformance, AbortLeavesNothing) {
  auto sink = files_->create("exports/42/1-a.xlsx");
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(bytes_of(1000000)).ok());
  (*sink)->abort();
  (*sink)->abort();
  EXPECT_FALSE((*sink)->write("x").ok());
  EXPECT_FALSE((*sink)->commit().ok());
  const Contents contents = list(*other_);
  EXPECT_THAT(contents.visible, IsEmpty());
  EXPECT_THAT(contents.hidden, IsEmpty());
  store(*files_, "exports/42/1-a.xlsx", "again");  // the key is free
}

TEST_P(FilesConformance, ADestroyedSinkAborts) {
  {
    auto sink = files_->create("exports/42/1-a.xlsx");
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->write(bytes_of(1000000)).ok());
  }
  const Contents contents = list(*other_);
  EXPECT_THAT(contents.visible, IsEmpty());
  EXPECT_THAT(contents.hidden, IsEmpty());
}

TEST_P(FilesConformance, ACommittedSinkTakesNothingMoreAndAbortDoesNotTouchTheFile) {
  auto sink = files_->create("exports/42/1-a.xlsx");
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write("whole").ok());
  ASSERT_TRUE((*sink)->commit().ok());
  EXPECT_FALSE((*sink)->write("more").ok());
  EXPECT_FALSE((*sink)->commit().ok());
  (*sink)->abort();
  (*sink).reset();
  EXPECT_EQ(load(*other_, "exports/42/1-a.xlsx"), "whole");
}

TEST_P(FilesConformance, AnExistingKeyIsNeverReplaced) {
  store(*files_, "exports/42/1-a.xlsx", "first");
  EXPECT_EQ(category(other_->create("exports/42/1-a.xlsx")), ErrorCategory::kConflict);
  EXPECT_EQ(load(*files_, "exports/42/1-a.xlsx"), "first");
}

TEST_P(FilesConformance, OfSinksForOneKeyExactlyOneWins) {
  constexpr int kWriters = 8;
  constexpr std::size_t kBytes = 200 * 1000;
  std::latch all_written(kWriters);
  std::atomic<int> won = 0;
  std::atomic<int> conflicts = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      const std::unique_ptr<Files> files = storage_->connect();
      auto sink = files->create("exports/42/1-a.xlsx");
      ASSERT_TRUE(sink.ok()) << sink.error().message;
      ASSERT_TRUE((*sink)->write(std::string(kBytes, static_cast<char>('a' + i))).ok());
      all_written.arrive_and_wait();
      const base::Status committed = (*sink)->commit();
      if (committed.ok()) {
        ++won;
      } else if (committed.error().category == ErrorCategory::kConflict) {
        ++conflicts;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(conflicts, kWriters - 1);
  const std::string bytes = load(*files_, "exports/42/1-a.xlsx");
  ASSERT_EQ(bytes.size(), kBytes);
  EXPECT_EQ(bytes, std::string(kBytes, bytes[0]));  // of one writer, not mixed
  EXPECT_THAT(list(*files_).hidden, IsEmpty());
}

TEST_P(FilesConformance, RemovalIsSeenByEverybodyAndMayBeRepeated) {
  store(*files_, "exports/42/1-a.xlsx", "x");
  store(*files_, "exports/42/2-b.xlsx", "y");
  EXPECT_TRUE(files_->remove("exports/42/1-a.xlsx").ok());
  EXPECT_TRUE(files_->remove("exports/42/1-a.xlsx").ok());
  EXPECT_TRUE(files_->remove("exports/never/was.xlsx").ok());
  EXPECT_EQ(category(other_->open("exports/42/1-a.xlsx")), ErrorCategory::kNotFound);
  EXPECT_EQ(load(*other_, "exports/42/2-b.xlsx"), "y");
}

TEST_P(FilesConformance, ManyFilesComeAndGoAtOnce) {
  // Neighbours that make and remove the same folders must not disturb each other.
  constexpr int kWorkers = 4;
  constexpr int kRounds = 25;
  std::atomic<int> failures = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] {
      const std::unique_ptr<Files> files = storage_->connect();
      for (int round = 0; round < kRounds; ++round) {
        const std::string key = "exports/42/" + std::to_string(i) + "-" + std::to_string(round);
        auto sink = files->create(key);
        const bool stored = sink.ok() && (*sink)->write(key).ok() && (*sink)->commit().ok();
        if (!stored || load(*files, key) != key || !files->remove(key).ok()) ++failures;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(list(*files_).visible, IsEmpty());
}

TEST_P(FilesConformance, ListsEveryFileWithSizeAndTime) {
  store(*files_, "a", "1");
  store(*files_, "exports/1/1-a.xlsx", "22");
  store(*files_, "exports/2/1-b.xlsx", "333");
  EXPECT_THAT(
      list(*other_).visible,
      UnorderedElementsAre(::testing::Pair("a", 1u), ::testing::Pair("exports/1/1-a.xlsx", 2u),
                           ::testing::Pair("exports/2/1-b.xlsx", 3u)));
  const base::Millis now = base::SystemClock().wall_ms();
  int visited = 0;
  ASSERT_TRUE(other_
                  ->list([&](const Listed& entry) {
                    EXPECT_NEAR(static_cast<double>(entry.modified_ms), static_cast<double>(now),
                                10 * 60000.0);
                    return ++visited < 2;
                  })
                  .ok());
  EXPECT_EQ(visited, 2) << "the visitor stops the listing";
}

TEST_P(FilesConformance, AFileMayBeRemovedWhileListing) {
  for (int i = 0; i < 30; ++i) store(*files_, "exports/" + std::to_string(i) + "/f", "x");
  ASSERT_TRUE(
      files_->list([&](const Listed& entry) { return files_->remove(entry.key).ok(); }).ok());
  EXPECT_THAT(list(*other_).visible, IsEmpty());
}

TEST_P(FilesConformance, UnfinishedFilesAreListedAsHiddenAndCanOnlyBeRemoved) {
  auto sink = files_->create("exports/42/1-a.xlsx");
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(bytes_of(1000000)).ok());
  const Contents contents = list(*other_);
  ASSERT_EQ(contents.hidden.size(), 1u);
  const std::string name = contents.hidden[0].key;
  EXPECT_EQ(category(other_->open(name)), ErrorCategory::kInvalid);
  EXPECT_EQ(category(other_->remove(name)), ErrorCategory::kInvalid);

  EXPECT_TRUE(other_->remove_hidden(name).ok());
  EXPECT_TRUE(other_->remove_hidden(name).ok());
  EXPECT_THAT(list(*files_).hidden, IsEmpty());
  // The writer learns it at the latest now, and no part of a file becomes visible.
  EXPECT_FALSE((*sink)->commit().ok());
  EXPECT_THAT(list(*files_).visible, IsEmpty());
}

TEST_P(FilesConformance, RemoveHiddenTakesNoVisibleFile) {
  store(*files_, "exports/42/1-a.xlsx", "x");
  EXPECT_EQ(category(files_->remove_hidden("exports/42/1-a.xlsx")), ErrorCategory::kInvalid);
  EXPECT_EQ(category(files_->remove_hidden("")), ErrorCategory::kInvalid);
  EXPECT_EQ(category(files_->remove_hidden("../x")), ErrorCategory::kInvalid);
  EXPECT_EQ(load(*files_, "exports/42/1-a.xlsx"), "x");
}

// D113
TEST_P(FilesConformance, KeysThatWaybillDoesNotMakeAreRefusedByEveryCall) {
  const std::string keys[] = {"",
                              "/",
                              "/etc/passwd",
                              "..",
                              "../x",
                              "a/../b",
                              "a/..",
                              "a//b",
                              "a/",
                              "a/./b",
                              ".hidden",
                              "a/.hidden",
                              "%2e%2e/x",
                              "a\\b",
                              "..\\x",
                              std::string("a\0b", 3),
                              "a b",
                              "a\nb",
                              "\xe4\xbd\xa0",
                              "%252e%252e%252fx",
                              "C:x",
                              "~",
                              std::string(257, 'a'),
                              std::string(256, 'a')};
  for (const std::string& key : keys) {
    EXPECT_EQ(category(files_->create(key)), ErrorCategory::kInvalid) << key;
    EXPECT_EQ(category(files_->open(key)), ErrorCategory::kInvalid) << key;
    EXPECT_EQ(category(files_->size(key)), ErrorCategory::kInvalid) << key;
    EXPECT_EQ(category(files_->remove(key)), ErrorCategory::kInvalid) << key;
    EXPECT_EQ(files_->create(key).error().field, "key");
  }
  const Contents contents = list(*files_);
  EXPECT_THAT(contents.visible, IsEmpty());
  EXPECT_THAT(contents.hidden, IsEmpty());
}

TEST_P(FilesConformance, LongestKeysWork) {
  const std::string flat(kMaxKeySegmentBytes, 'k');
  std::string deep = "d";
  while (deep.size() + 2 <= kMaxKeyBytes) deep += "/d";
  for (const std::string& key : {flat, deep}) {
    ASSERT_TRUE(valid_key(key));
    store(*files_, key, "x");
    EXPECT_EQ(load(*other_, key), "x");
  }
  EXPECT_EQ(list(*files_).visible.size(), 2u);
  EXPECT_TRUE(files_->remove(deep).ok());
  EXPECT_EQ(list(*files_).visible.size(), 1u);
}

TEST_P(FilesConformance, OneStorageHasOneIdentityAndAnotherStorageAnother) {
  constexpr int kCallers = 8;
  std::latch start(kCallers);
  std::vector<std::string> ids(kCallers);
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      const std::unique_ptr<Files> files = storage_->connect();
      start.arrive_and_wait();
      const auto id = files->storage_id();
      ASSERT_TRUE(id.ok()) << id.error().message;
      ids[i] = *id;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
  EXPECT_EQ(ids[0].size(), 36u);
  EXPECT_EQ(*storage_->connect()->storage_id(), ids[0]);

  const auto elsewhere = GetParam().make_storage();
  EXPECT_NE(*elsewhere->connect()->storage_id(), ids[0]);
  // The marker is no file: it is never listed, so it is never swept.
  const Contents contents = list(*files_);
  EXPECT_THAT(contents.visible, IsEmpty());
  EXPECT_THAT(contents.hidden, IsEmpty());
}

TEST_P(FilesConformance, AHealthyStorageIsWritableAndTheCheckLeavesNothing) {
  const base::Status writable = files_->check_writable();
  EXPECT_TRUE(writable.ok());
  const Contents contents = list(*files_);
  EXPECT_THAT(contents.visible, IsEmpty());
  EXPECT_THAT(contents.hidden, IsEmpty());
}

TEST_P(FilesConformance, FreeBytes) {
  const auto free = files_->free_bytes();
  ASSERT_TRUE(free.ok());
  if (GetParam().knows_free_bytes) {
    EXPECT_GT(*free, 0);
  } else {
    EXPECT_EQ(*free, -1);
  }
}

// D95
TEST_P(FilesConformance, AnOpenSourceFinishesOrFailsWhenTheFileIsRemoved) {
  const std::string bytes = bytes_of(500000);
  store(*files_, "exports/42/1-a.xlsx", bytes);
  auto source = files_->open("exports/42/1-a.xlsx");
  ASSERT_TRUE(source.ok());
  std::string buffer(1000, '\0');
  ASSERT_EQ(*(*source)->read(0, buffer), 1000u);
  ASSERT_TRUE(other_->remove("exports/42/1-a.xlsx").ok());
  store(*other_, "exports/42/1-a.xlsx", bytes_of(500000, 2));
  const auto got = (*source)->read(1000, buffer);
  if (got.ok()) {
    EXPECT_EQ(buffer.substr(0, *got), bytes.substr(1000, *got)) << "never mixed bytes";
    EXPECT_GT(*got, 0u) << "never looks complete";
  }
}

}  // namespace
}  // namespace waybill::files
