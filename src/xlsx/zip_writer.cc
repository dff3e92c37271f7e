#include "xlsx/zip_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "xlsx/zip_format.h"

namespace waybill::xlsx {
namespace {
constexpr std::size_t kBufferBytes = 128u << 10;  // one call of the sink
}  // namespace

ZipWriter::ZipWriter(ByteSink sink, Compression compression, std::uint64_t max_file_bytes)
    : sink_(std::move(sink)),
      deflater_(make_deflater(compression)),
      max_file_bytes_(max_file_bytes),
      buffer_(kBufferBytes) {}

base::Status ZipWriter::add(std::string_view name, std::string_view content) {
  Entry entry;
  entry.name = name;
  entry.version = zip::kVersionDeflate;
  entry.method = zip::kMethodStored;
  entry.crc = crc32(0, content);
  entry.size = entry.packed = content.size();
  entry.offset = bytes_;
  if (content.size() >= zip::kMax32) return fail(base::internal("a stored part is over 4 GiB"));
  WAYBILL_TRY(put_local_header(entry));
  entries_.push_back(std::move(entry));
  return emit(content);
}

base::Status ZipWriter::begin(std::string_view name, bool large) {
  open_ = Entry();
  open_.name = name;
  open_.version = large ? zip::kVersionZip64 : zip::kVersionDeflate;
  open_.flags = zip::kFlagDescriptor;
  open_.method = zip::kMethodDeflate;
  open_.offset = bytes_;
  deflater_->begin();
  deflated_by_caller_ = false;
  return put_local_header(open_);
}

base::Status ZipWriter::write(std::string_view bytes) {
  deflated_by_caller_ = false;
  open_.crc = crc32(open_.crc, bytes);
  open_.size += bytes.size();
  return deflate(bytes, false);
}

base::Status ZipWriter::write_deflated(std::string_view bytes, std::string_view deflated) {
  deflated_by_caller_ = true;
  open_.crc = crc32(open_.crc, bytes);
  open_.size += bytes.size();
  open_.packed += deflated.size();
  return emit(deflated);
}

std::uint64_t ZipWriter::deflated_bytes(std::string_view bytes) {
  std::array<char, 8u << 10> scratch;
  std::uint64_t total = 0;
  deflater_->begin();
  for (std::size_t made = scratch.size(); made == scratch.size();) {
    made = deflater_->run(bytes, true, scratch);
    total += made;
  }
  deflater_->begin();
  return total;
}

base::Status ZipWriter::end() {
  if (!deflated_by_caller_) WAYBILL_TRY(deflate({}, true));
  const bool large = open_.version == zip::kVersionZip64;
  if (!large && std::max(open_.size, open_.packed) >= zip::kMax32) {
    return fail(base::internal("part " + open_.name + " grew over 4 GiB without ZIP64"));
  }
  std::string descriptor;
  zip::put32(descriptor, zip::kDescriptorSignature);
  zip::put32(descriptor, open_.crc);
  zip::put(descriptor, open_.packed, large ? 8 : 4);
  zip::put(descriptor, open_.size, large ? 8 : 4);
  entries_.push_back(open_);
  return emit(descriptor);
}

base::Status ZipWriter::finish() {
  const std::uint64_t offset = bytes_;
  for (const Entry& entry : entries_) WAYBILL_TRY(emit(central_record(entry)));
  WAYBILL_TRY(emit(end_records(offset, bytes_ - offset)));
  return flush();
}

base::Status ZipWriter::put_local_header(const Entry& entry) {
  const bool streamed = (entry.flags & zip::kFlagDescriptor) != 0;
  const bool large = entry.version == zip::kVersionZip64;
  std::string header;
  zip::put32(header, zip::kLocalSignature);
  zip::put16(header, entry.version);
  zip::put16(header, entry.flags);
  zip::put16(header, entry.method);
  zip::put16(header, zip::kFixedTime);
  zip::put16(header, zip::kFixedDate);
  zip::put32(header, streamed ? 0 : entry.crc);
  zip::put32(header, large ? zip::kMax32 : streamed ? 0 : entry.packed);
  zip::put32(header, large ? zip::kMax32 : streamed ? 0 : entry.size);
  zip::put16(header, entry.name.size());
  zip::put16(header, large ? 20 : 0);
  header += entry.name;
  if (large) {
    zip::put16(header, zip::kExtraZip64);
    zip::put16(header, 16);
    zip::put64(header, 0);
    zip::put64(header, 0);
  }
  return emit(header);
}

std::string ZipWriter::central_record(const Entry& entry) {
  std::string extra;
  if (entry.size >= zip::kMax32) zip::put64(extra, entry.size);
  if (entry.packed >= zip::kMax32) zip::put64(extra, entry.packed);
  if (entry.offset >= zip::kMax32) zip::put64(extra, entry.offset);
  const std::uint16_t version = extra.empty() ? entry.version : zip::kVersionZip64;
  const auto or_marker = [](std::uint64_t v) { return std::min<std::uint64_t>(v, zip::kMax32); };
  std::string record;
  zip::put32(record, zip::kCentralSignature);
  zip::put16(record, version);  // made by: this version, MS-DOS attributes
  zip::put16(record, version);
  zip::put16(record, entry.flags);
  zip::put16(record, entry.method);
  zip::put16(record, zip::kFixedTime);
  zip::put16(record, zip::kFixedDate);
  zip::put32(record, entry.crc);
  zip::put32(record, or_marker(entry.packed));
  zip::put32(record, or_marker(entry.size));
  zip::put16(record, entry.name.size());
  zip::put16(record, extra.empty() ? 0 : extra.size() + 4);
  zip::put16(record, 0);  // comment
  zip::put16(record, 0);  // disk
  zip::put16(record, 0);  // internal attributes
  zip::put32(record, 0);  // external attributes
  zip::put32(record, or_marker(entry.offset));
  record += entry.name;
  if (!extra.empty()) {
    zip::put16(record, zip::kExtraZip64);
    zip::put16(record, extra.size());
    record += extra;
  }
  return record;
}

std::string ZipWriter::end_records(std::uint64_t offset, std::uint64_t size) const {
  std::string end;
  const std::uint64_t count = entries_.size();
  if (offset >= zip::kMax32 || size >= zip::kMax32 || count >= zip::kMax16) {
    zip::put32(end, zip::kEnd64Signature);
    zip::put64(end, zip::kEnd64Bytes - 12);
    zip::put16(end, zip::kVersionZip64);
    zip::put16(end, zip::kVersionZip64);
    zip::put32(end, 0);
    zip::put32(end, 0);
    zip::put64(end, count);
    zip::put64(end, count);
    zip::put64(end, size);
    zip::put64(end, offset);
    zip::put32(end, zip::kLocator64Signature);
    zip::put32(end, 0);
    zip::put64(end, offset + size);
    zip::put32(end, 1);
  }
  const auto or_marker = [](std::uint64_t v) { return std::min<std::uint64_t>(v, zip::kMax32); };
  zip::put32(end, zip::kEndSignature);
  zip::put16(end, 0);
  zip::put16(end, 0);
  zip::put16(end, std::min<std::uint64_t>(count, zip::kMax16));
  zip::put16(end, std::min<std::uint64_t>(count, zip::kMax16));
  zip::put32(end, or_marker(size));
  zip::put32(end, or_marker(offset));
  zip::put16(end, 0);
  return end;
}

base::Status ZipWriter::emit(std::string_view bytes) {
  WAYBILL_TRY(account(bytes.size()));
  while (!bytes.empty()) {
    if (used_ == buffer_.size()) WAYBILL_TRY(flush());
    const std::size_t step = std::min(bytes.size(), buffer_.size() - used_);
    std::memcpy(buffer_.data() + used_, bytes.data(), step);
    used_ += step;
    bytes.remove_prefix(step);
  }
  return {};
}

base::Status ZipWriter::deflate(std::string_view bytes, bool last) {
  if (!status_.ok()) return status_;
  for (;;) {
    if (used_ == buffer_.size()) WAYBILL_TRY(flush());
    const std::size_t room = buffer_.size() - used_;
    const std::size_t made = deflater_->run(bytes, last, {buffer_.data() + used_, room});
    WAYBILL_TRY(account(made));
    used_ += made;
    open_.packed += made;
    if (made < room && bytes.empty()) return {};
  }
}

// Counts bytes against the limit before they go anywhere: an oversized file never reaches the sink.
base::Status ZipWriter::account(std::uint64_t bytes) {
  if (!status_.ok()) return status_;
  if (bytes > max_file_bytes_ - std::min(bytes_, max_file_bytes_)) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    return fail(base::over_limit("max_file_bytes",
                                 static_cast<std::int64_t>(std::min(max_file_bytes_, kMax)),
                                 "bytes", static_cast<std::int64_t>(std::min(bytes_ + bytes, kMax)),
                                 "the file would be larger than allowed; narrow the selection"));
  }
  bytes_ += bytes;
  return {};
}

base::Status ZipWriter::flush() {
  if (!status_.ok()) return status_;
  if (used_ == 0) return {};
  const std::string_view ready(buffer_.data(), used_);
  used_ = 0;
  base::Status sent = sink_(ready);
  return sent.ok() ? base::Status() : fail(std::move(sent).error());
}

base::Status ZipWriter::fail(base::Error error) {
  status_ = std::move(error);
  return status_;
}

}  // namespace waybill::xlsx
