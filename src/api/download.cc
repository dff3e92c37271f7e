// GET|HEAD /files/export-tasks/{id}/download

#include <algorithm>
#include <utility>

#include "api/context.h"
#include "api/http_range.h"
#include "base/text.h"

namespace waybill::api {
namespace {

constexpr std::size_t kMaxFileNameLength = 150;  // characters

base::Error gone(std::string_view code) {
  base::Error error = base::not_found("");
  error.code = std::string(code);
  return error;
}

// Pieces of an open file. It stays readable when the file is removed meanwhile.
class FilePart final : public http::BodySource {
 public:
  FilePart(std::unique_ptr<files::Source> source, std::uint64_t first, std::uint64_t size)
      : source_(std::move(source)), at_(first), left_(size) {}

  base::Status read(std::size_t want, std::string& out) override {
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(std::min<std::uint64_t>(want, left_)));
    auto got = source_->read(at_, std::span(out).subspan(before));
    out.resize(before + (got.ok() ? *got : 0));
    if (!got.ok()) return std::move(got).error();
    at_ += *got;
    left_ -= *got;
    return {};
  }

 private:
  std::unique_ptr<files::Source> source_;
  std::uint64_t at_;
  std::uint64_t left_;
};

// A name that no header, shell or file system reads differently than it looks.
std::string safe_name(const std::string& name) {
  std::string out = base::to_utf8(base::utf8_prefix(name, kMaxFileNameLength));
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f ||
        std::string_view("\"\\/:*?<>|;%").find(c) != std::string_view::npos)
      c = '_';
  }
  return out.empty() ? "export.xlsx" : out;
}

// RFC 6266: an ASCII name for old clients, the real one as filename*.
std::string content_disposition(const std::string& file_name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::string name = safe_name(file_name);
  std::string ascii;
  std::string encoded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_';
    if (byte < 0x80)
      ascii += c;
    else if (byte >= 0xc0)
      ascii += '_';  // one for each character
    if (plain) {
      encoded += c;
    } else {
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return "attachment; filename=\"" + ascii + "\"; filename*=UTF-8''" + encoded;
}

// The file of a task that still has one.
base::Result<std::unique_ptr<files::Source>> open_file(Context& context,
                                                       const store::ExportRow& row) {
  if (row.task.status == core::TaskStatus::kExpired) return gone("FILE_EXPIRED");
  if (row.task.status != core::TaskStatus::kSucceeded) return gone("FILE_NOT_READY");
  if (row.expires_at) {
    WAYBILL_ASSIGN(const base::Millis now, context.deps.admin.now());
    if (*row.expires_at <= now) return gone("FILE_EXPIRED");
  }
  auto source = context.deps.files.open(row.object_key);
  const bool absent = !source.ok() && source.error().category == base::ErrorCategory::kNotFound;
  if (absent || (source.ok() && (*source)->size() != static_cast<std::uint64_t>(row.size_bytes))) {
    base::log(base::LogLevel::kError, "file_missing",
              {{"taskId", row.task.id}, {"key", row.object_key}, {"storageId", row.storage_id}});
    return gone("FILE_MISSING");
  }
  return source;
}

void add_file_headers(http::Response& response, const store::ExportRow& row,
                      const std::string& etag) {
  response.headers.emplace_back("Content-Type", row.content_type);
  response.headers.emplace_back("Content-Disposition", content_disposition(row.file_name));
  response.headers.emplace_back("ETag", etag);
  response.headers.emplace_back("Accept-Ranges", "bytes");
  response.headers.emplace_back("Cache-Control", "private, no-cache");
}

}  // namespace

base::Result<http::Response> download_export(Context& context, const Call& call) {
  WAYBILL_TRY(require(call, kListPermission));
  WAYBILL_ASSIGN(const core::TaskId id, path_id(call));
  WAYBILL_ASSIGN(const store::ExportRow row,
                 context.deps.tasks.find_export(id, visible_scope(call.who)));
  WAYBILL_ASSIGN(std::unique_ptr<files::Source> source, open_file(context, row));
  const std::uint64_t whole = source->size();
  const std::string etag = '"' + row.sha256 + '"';
  http::Response response;
  if (matches_etag(call.request.header("if-none-match"), etag)) {
    response.status = 304;
    response.headers.emplace_back("ETag", etag);
    return response;
  }
  // A range of another version of the file would be put together with the wrong rest: then the
  // whole is sent.
  const std::string_view condition = call.request.header("if-range");
  const bool ranged = call.request.method == "GET" && (condition.empty() || condition == etag);
  const ByteRange range = ranged ? parse_range(call.request.header("range"), whole) : ByteRange();
  if (range.kind == ByteRange::Kind::kUnsatisfiable) {
    base::Error error = base::invalid("Range", "");
    error.code = "RANGE_NOT_SATISFIABLE";
    response = failure(call.request, error, true);
    response.headers.emplace_back("Content-Range", "bytes */" + std::to_string(whole));
    return response;
  }
  add_file_headers(response, row, etag);
  std::uint64_t first = 0;
  response.source_size = whole;
  if (range.kind == ByteRange::Kind::kPart) {
    response.status = 206;
    first = range.first;
    response.source_size = range.size;
    response.headers.emplace_back("Content-Range", "bytes " + std::to_string(first) + "-" +
                                                       std::to_string(first + range.size - 1) +
                                                       "/" + std::to_string(whole));
  }
  response.source = std::make_unique<FilePart>(std::move(source), first, response.source_size);
  if (call.request.method == "GET") {
    audit(call, "export_downloaded",
          {{"taskId", id},
           {"owner", row.task.requested_by},
           {"first", first},
           {"bytes", response.source_size}});
  }
  return response;
}

}  // namespace waybill::api
