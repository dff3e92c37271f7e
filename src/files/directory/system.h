// System calls as the directory driver needs them: repeated after signals, complete, with errors as
// sentences.

#ifndef WAYBILL_FILES_DIRECTORY_SYSTEM_H_
#define WAYBILL_FILES_DIRECTORY_SYSTEM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace waybill::files::directory {

// The error for a failed call: what was tried, why it failed, and for a full storage how much is
// free around `fd`. A full disk, quota, read-only or missing permission, I/O errors and exhausted
// descriptors are kUnavailable: they pass, or an operator ends them, and the work is worth
// repeating. kInternal for links and other wrong kinds of file.
base::Error io_error(std::string_view what, int error_number, int fd);

// Writes everything or fails.
base::Status write_all(int fd, std::string_view bytes);

// Reads until `buffer` is full or the file ends.
base::Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> buffer);

// fsync of a file.
base::Status sync_file(int fd);

// fsync of a folder, which makes the names in it durable. A file system that cannot sync folders at
// all (EINVAL, as some network mounts answer) counts as synced: it makes such changes durable
// before it answers.
base::Status sync_folder(int fd);

// Free bytes for an unprivileged writer.
base::Result<std::int64_t> free_space(int fd);

}  // namespace waybill::files::directory

#endif  // WAYBILL_FILES_DIRECTORY_SYSTEM_H_
