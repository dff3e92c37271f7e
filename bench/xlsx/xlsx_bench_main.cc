// waybill_xlsx_bench pages DIR [--shape NAME] [--rows N]   writes pages of 1,000 rows
// waybill_xlsx_bench json OUT DIR [OPTION...]              pages -> finished file
// waybill_xlsx_bench cells OUT [OPTION...]                 the same rows made in the program
//
// Options: --shape orders|wide|narrow|repeated|unique|pool, --rows N, --level fast|small,
// --refs 0|1, --shared BYTES (the budget of shared strings), --sink-rate BYTES (a second; 0 = no
// limit).
// Prints one JSON line; the time is measured from outside (see run).

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "jobs.h"

namespace {

using waybill::base::Result;
using waybill::base::Status;
namespace bench = waybill::bench;
namespace xlsx = waybill::xlsx;

constexpr std::int64_t kPageRows = 1'000;
constexpr std::string_view kRowsKey = "\"rows\":";
constexpr std::uint64_t kNoLimit = 1ull << 40;  // bytes

struct Job {
  std::string command, output, pages;
  bench::Shape shape = bench::Shape::kOrders;
  std::int64_t rows = 0;
  std::uint64_t sink_rate = 0;
  xlsx::WriterOptions options;
};

// An output file. The bytes of one call go out at once.
class File {
 public:
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644)) {}
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  Status write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ::ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n <= 0) return waybill::base::unavailable(std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }

 private:
  int fd_;
};

// Whole files into one buffer with room behind it.
class PageReader {
 public:
  Result<std::string_view> read(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct ::stat info{};
    if (fd < 0 || ::fstat(fd, &info) != 0) return waybill::base::unavailable("cannot open " + path);
    const auto size = static_cast<std::size_t>(info.st_size);
    if (buffer_.size() < size + xlsx::kJsonPadding) buffer_.resize(size + xlsx::kJsonPadding);
    const ::ssize_t n = ::read(fd, buffer_.data(), size);
    ::close(fd);
    if (n != info.st_size) return waybill::base::unavailable("cannot read " + path);
    return std::string_view(buffer_.data(), size);
  }

 private:
  std::string buffer_;
};

// The array of rows inside an answer of a provider.
std::string_view rows_of(std::string_view page) {
  const std::size_t at = page.find(kRowsKey);
  const std::size_t end = page.rfind(']');
  if (at == std::string_view::npos || end == std::string_view::npos) return {};
  return page.substr(at + kRowsKey.size(), end + 1 - at - kRowsKey.size());
}

Status write_pages(const Job& job) {
  std::filesystem::create_directories(job.output);
  bench::Rows rows(job.shape);
  std::string page;
  for (std::int64_t first = 0; first < job.rows; first += kPageRows) {
    page = "{\"code\":\"200\",\"data\":{\"rows\":[";
    for (std::int64_t i = first; i < std::min(first + kPageRows, job.rows); ++i) {
      if (i > first) page += ',';
      rows.append_json(page, i);
    }
    page += "]}}";
    char name[32];
    std::snprintf(name, sizeof name, "/page-%05d.json", static_cast<int>(first / kPageRows));
    File file(job.output + name);
    WAYBILL_TRY(file.write(page));
  }
  return {};
}

Result<xlsx::WriterReport> write_book(const Job& job) {
  const File file(job.output);
  const auto sink = [&](std::string_view bytes) {
    if (job.sink_rate > 0) {
      const auto nanos = static_cast<std::int64_t>(1e9 * static_cast<double>(bytes.size()) /
                                                   static_cast<double>(job.sink_rate));
      const ::timespec pause{nanos / 1'000'000'000, nanos % 1'000'000'000};
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    }
    return file.write(bytes);
  };
  WAYBILL_ASSIGN(const auto writer,
                 xlsx::Writer::open(bench::columns_of(job.shape), job.options, sink));
  if (job.command == "cells") {
    bench::Rows rows(job.shape);
    for (std::int64_t i = 0; i < job.rows; ++i) WAYBILL_TRY(writer->append_row(rows.cells(i)));
  } else {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(job.pages)) {
      paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    PageReader reader;
    for (const std::string& path : paths) {
      WAYBILL_ASSIGN(const std::string_view page, reader.read(path));
      const std::string_view rows = rows_of(page);
      const auto behind = static_cast<std::size_t>(page.end() - rows.end()) + xlsx::kJsonPadding;
      WAYBILL_TRY(writer->append_json_rows(rows, {}, behind));
    }
  }
  return writer->close();
}

std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

bool set_option(Job& job, std::string_view name, const char* value) {
  if (name == "--shape") {
    const auto shape = bench::shape_of(value);
    if (!shape) return false;
    job.shape = *shape;
  } else if (name == "--rows") {
    job.rows = std::strtoll(value, nullptr, 10);
  } else if (name == "--level") {
    job.options.compression =
        std::string_view(value) == "small" ? xlsx::Compression::kSmall : xlsx::Compression::kFast;
  } else if (name == "--refs") {
    job.options.cell_refs = std::string_view(value) == "1";
  } else if (name == "--shared") {
    job.options.shared_string_budget_bytes = std::strtoull(value, nullptr, 10);
  } else if (name == "--sink-rate") {
    job.sink_rate = std::strtoull(value, nullptr, 10);
  } else {
    return false;
  }
  return true;
}

bool parse(int argc, char** argv, Job& job) {
  if (argc < 3) return false;
  job.command = argv[1];
  job.output = argv[2];
  int at = 3;
  if (job.command == "json") {
    if (argc < 4) return false;
    job.pages = argv[at++];
  } else if (job.command != "cells" && job.command != "pages") {
    return false;
  }
  for (; at < argc; at += 2) {
    if (at + 1 == argc || !set_option(job, argv[at], argv[at + 1])) return false;
  }
  if (job.rows == 0) job.rows = bench::default_rows(job.shape);
  job.options.max_file_bytes = kNoLimit;
  job.options.max_rows = std::int64_t{1} << 40;
  return true;
}

int failed(const waybill::base::Error& error) {
  std::fprintf(stderr, "waybill_xlsx_bench: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Job job;
  if (!parse(argc, argv, job)) {
    std::fputs("usage: waybill_xlsx_bench pages|json|cells OUT [PAGES] [--OPTION VALUE]...\n",
               stderr);
    return 2;
  }
  if (job.command == "pages") {
    const Status status = write_pages(job);
    return status.ok() ? 0 : failed(status.error());
  }
  const auto report = write_book(job);
  if (!report.ok()) return failed(report.error());
  waybill::base::JsonWriter out;
  out.begin_object().field("rows", report->rows).field("bytes", report->bytes);
  out.field("peak_kib", peak_kib()).end_object();
  std::puts(out.text().c_str());
  return 0;
}
