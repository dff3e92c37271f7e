// The finished-file seam: bytes become visible under their key only by commit(), whole and durable.
//
// Keys are made by Waybill alone ("exports/{taskId}/{version}-{uuid}.xlsx"); every implementation
// checks them again with valid_key() and refuses the rest.

#ifndef WAYBILL_FILES_FILES_H_
#define WAYBILL_FILES_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace waybill::files {

// A key is at most this long, in bytes.
inline constexpr std::size_t kMaxKeyBytes = 256;
// And each part between slashes at most this long: what file systems take as one name.
inline constexpr std::size_t kMaxKeySegmentBytes = 255;

// Segments of [A-Za-z0-9._-], joined by '/', none empty, none starting with a dot, at most
// kMaxKeyBytes. So no key names a parent folder, an absolute path, a hidden file or anything
// encoded.
bool valid_key(std::string_view key);

// One file being written. Not thread-safe; used by one thread at a time.
// A sink that is destroyed without commit() aborts.
class Sink {
 public:
  virtual ~Sink() = default;
  // Appends. After a failure only abort() makes sense. kUnavailable: full disk, refused part,
  // storage away.
  virtual base::Status write(std::string_view bytes) = 0;
  // Makes the file durable and visible under its key (directory: fsync of the file, rename, fsync
  // of the folder). kOutcomeUnknown: it may be visible; ask size() before deciding.
  virtual base::Status commit() = 0;
  // Removes what was written. Idempotent; failures are left to the orphan scan.
  virtual void abort() = 0;
  // Reads back what has been written so far and not yet committed, from `offset`, for verification
  // before the file is visible. Fills `buffer` as far as bytes exist and returns how many.
  virtual base::Result<std::size_t> read_back(std::uint64_t offset, std::span<char> buffer) = 0;
};

// One visible file being read. Not thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Fills `buffer` from `offset`; returns the bytes read, 0 only at the end.
  virtual base::Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) = 0;
};

// What a listing shows. `hidden` marks temporary files and unfinished uploads; they can only be
// removed.
struct Listed {
  std::string key;  // for a hidden entry: an opaque name that remove_hidden() takes
  std::uint64_t size = 0;
  base::Millis modified_ms = 0;  // by the storage's clock
  bool hidden = false;
};

// Thread-safe. Errors of every call: kInvalid (field "key") for a key or name that Waybill does not
// make, kUnavailable for storage that is away, full or read-only, kInternal for storage that
// somebody tampered with (a link where a file or folder should be, a damaged marker).
class Files {
 public:
  virtual ~Files() = default;
  // A new file. The key must not exist; one that does is kConflict, here or, when two make it at
  // once, at commit().
  virtual base::Result<std::unique_ptr<Sink>> create(std::string_view key) = 0;
  // kNotFound when absent.
  virtual base::Result<std::unique_ptr<Source>> open(std::string_view key) = 0;
  // kNotFound when absent.
  virtual base::Result<std::uint64_t> size(std::string_view key) = 0;
  // Success also when the file is absent already: afterwards it is proven gone.
  virtual base::Status remove(std::string_view key) = 0;
  virtual base::Status remove_hidden(std::string_view name) = 0;
  // Visits everything stored, in no order, without holding it all in memory. The visitor returns
  // false to stop.
  virtual base::Status list(const std::function<bool(const Listed&)>& visit) = 0;
  // A marker stored once with the files: equal for every instance that sees the same storage.
  // Made by the first caller. 36 characters.
  virtual base::Result<std::string> storage_id() = 0;
  // True when a small file can be written and removed; the error says what stands in the way.
  virtual base::Status check_writable() = 0;
  // Free bytes, or -1 where the storage has no such notion.
  virtual base::Result<std::int64_t> free_bytes() = 0;
};

}  // namespace waybill::files

#endif  // WAYBILL_FILES_FILES_H_
