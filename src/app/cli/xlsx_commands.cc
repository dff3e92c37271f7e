#include "app/cli/xlsx_commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <variant>

#include "app/cli/download.h"
#include "app/cli/exit_code.h"
#include "app/cli/local_files.h"
#include "app/cli/task_view.h"
#include "app/cli/watch.h"
#include "base/clock.h"
#include "base/errno_text.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "exporting/provider_page.h"
#include "xlsx/inspect.h"
#include "xlsx/reader.h"
#include "xlsx/verify.h"
#include "xlsx/writer.h"

namespace waybill::app::cli {
namespace {

constexpr std::string_view kStandardInput = "-";
constexpr std::size_t kMaxInputPageBytes = xlsx::kMaxPageBytes;  // of one PAGE
constexpr std::uint64_t kMaxOutputBytes = 64ull << 30;
constexpr std::int64_t kMaxOutputRows = 1'000'000'000;

int fail(Console& console, const Failure& failure) {
  console.error(failure.message);
  return failure.exit_code;
}

Failure local(const std::string& what, int error) {
  return {kLocalFile, what + ": " + base::errno_text(error), false};
}

// What stands at a path, or why it cannot be read.
std::variant<xlsx::LocalFile, Failure> open_file(const std::string& path) {
  auto file = xlsx::open_local_file(path);
  if (file.ok()) return std::move(*file);
  return Failure{kLocalFile, file.error().message, false};
}

// An error about a file that could be opened: of its content, or of the machine.
Failure about(const std::string& path, const base::Error& error) {
  const bool machine = base::is_transient(error.category);
  return {machine ? kLocalFile : exit_code_of(error),
          base::printable(path, 300) + ": " + error.message, false};
}

// Hands over every page's text, until one is refused.
class PageInput {
 public:
  using Take = std::function<std::optional<Failure>(const std::string& name, std::string body)>;

  static std::optional<Failure> each(const std::vector<std::string>& pages, const Take& take) {
    for (const std::string& page : pages) {
      if (auto failure = page == kStandardInput ? lines(take) : file(page, take)) return failure;
    }
    return std::nullopt;
  }

 private:
  static Failure too_large(const std::string& name) {
    return {kLimitOrConflict, fmt::format("{} has more than {} bytes", name, kMaxInputPageBytes),
            false};
  }

  static std::optional<Failure> file(const std::string& path, const Take& take) {
    const auto opened = open_file(path);
    if (const auto* failure = std::get_if<Failure>(&opened)) return *failure;
    const auto& source = std::get<xlsx::LocalFile>(opened);
    const std::string name = base::printable(path, 300);
    if (source.size > kMaxInputPageBytes) return too_large(name);
    auto body = xlsx::ByteSource(source.size, source.read).text(0, source.size);
    if (!body.ok()) return Failure{kLocalFile, body.error().message, false};
    return take(name, std::move(*body));
  }

  // getline() with a bound.
  static std::optional<Failure> lines(const Take& take) {
    std::streambuf& in = *std::cin.rdbuf();
    std::string line;
    bool any = false;
    for (std::int64_t number = 1;; ++number) {
      const std::string name = fmt::format("line {} of the standard input", number);
      line.clear();
      int c = in.sbumpc();
      for (; c != std::char_traits<char>::eof() && c != '\n'; c = in.sbumpc()) {
        if (line.size() == kMaxInputPageBytes) return too_large(name);
        line += static_cast<char>(c);
      }
      if (!base::trim(line).empty()) {
        if (auto failure = take(name, line)) return failure;
        any = true;
      }
      if (c != std::char_traits<char>::eof()) continue;
      if (!any) return Failure{kInvalidInput, "the standard input holds no page", false};
      return std::nullopt;
    }
  }
};

// What the file says otherwise than the data, by the names of a receipt.
constexpr std::pair<std::string_view, std::int64_t xlsx::WriterReport::*> kFigures[] = {
    {"cellsCut", &xlsx::WriterReport::cells_cut},
    {"cellsGuarded", &xlsx::WriterReport::cells_guarded},
    {"integersAsText", &xlsx::WriterReport::integers_as_text},
    {"decimalsAsText", &xlsx::WriterReport::decimals_as_text},
    {"invalidAsText", &xlsx::WriterReport::invalid_as_text},
    {"textRepaired", &xlsx::WriterReport::text_repaired},
    {"undeclaredKeys", &xlsx::WriterReport::undeclared_keys}};

// waybill xlsx from-json
class FromJson {
 public:
  FromJson(const Arguments& arguments, const Environment& environment, Console& console)
      : arguments_(arguments), environment_(environment), console_(console) {}

  int run() {
    if (const auto failure = check_places()) return fail(console_, *failure);
    if (const int error = file_.open(arguments_.output))
      return fail(console_, local(shown() + " cannot be written", error));
    const auto take = [this](const std::string& name, std::string body) {
      return append(name, std::move(body));
    };
    const auto refused_page = PageInput::each(arguments_.pages, take);
    // An interrupted read looks like the end of the input.
    if (interrupted_()) return fail(console_, interrupted());
    if (refused_page) return fail(console_, *refused_page);
    if (const auto failure = finish()) return fail(console_, *failure);
    return kDone;
  }

 private:
  [[nodiscard]] std::string shown() const { return base::printable(arguments_.output, 300); }

  [[nodiscard]] std::optional<Failure> check_places() const {
    for (const std::string& page : arguments_.pages) {
      std::error_code error;
      if (page != kStandardInput && std::filesystem::equivalent(page, arguments_.output, error)) {
        return Failure{kUsage, shown() + " is a page and cannot be the output as well", false};
      }
    }
    return check_output(arguments_.output);
  }

  std::optional<Failure> append(const std::string& name, std::string body) {
    const bool first = writer_ == nullptr;
    auto parsed = parser_.parse(
        std::move(body), {.max_rows = std::numeric_limits<std::int64_t>::max(), .first = first});
    if (const auto* failure = std::get_if<exporting::Failure>(&parsed))
      return Failure{kInvalidInput, name + ": " + about_page(failure->message), false};
    auto& page = std::get<exporting::ProviderPage>(parsed);
    if (first) {
      schema_hash_ = page.schema_hash;
      if (auto failure = open(name, std::move(page.columns))) return failure;
    } else if (!page.schema_hash.empty() && page.schema_hash != schema_hash_) {
      return Failure{kInvalidInput, name + ": its schemaHash differs from that of the first page",
                     false};
    }
    more_follow_ = page.has_more;
    const auto rows =
        writer_->append_json_rows(page.rows_json(), interrupted_, page.readable_behind());
    if (!rows.ok()) return refused(name, rows.error());
    return std::nullopt;
  }

  // There is no service here that answers.
  static std::string about_page(std::string message) {
    constexpr std::string_view kAnswer = "The business service's answer is truncated or";
    if (message.starts_with(kAnswer)) {
      return "the page is truncated or not valid JSON (UTF-8; a file holds one page, and so does a "
             "line of the standard input)";
    }
    return message;
  }

  static Failure interrupted() { return {kInterrupted, "interrupted; nothing was written", false}; }

  std::optional<Failure> open(const std::string& name, std::vector<xlsx::Column> columns) {
    const auto zone = base::TimeZone::find(environment_("TZ").value_or(""));
    if (!zone.ok()) return Failure{kUsage, "TZ: " + zone.error().message, false};
    xlsx::WriterOptions options;
    if (!arguments_.sheet.empty()) options.sheet_name = arguments_.sheet;
    options.created_unix_seconds = base::SystemClock().wall_ms() / 1'000;
    options.cell_refs = arguments_.cell_refs == "yes";
    options.compression =
        arguments_.level == "small" ? xlsx::Compression::kSmall : xlsx::Compression::kFast;
    options.max_file_bytes = kMaxOutputBytes;
    options.max_rows = kMaxOutputRows;
    options.zone_offset_seconds = [zone = *zone](std::int64_t utc_seconds) {
      return zone.offset_seconds(utc_seconds * 1'000);
    };
    auto writer = xlsx::Writer::open(std::move(columns), std::move(options),
                                     [this](std::string_view bytes) { return write(bytes); });
    if (!writer.ok()) return refused(name, writer.error());
    writer_ = std::move(*writer);
    return std::nullopt;
  }

  base::Status write(std::string_view bytes) {
    write_error_ = file_.write(bytes);
    if (write_error_ != 0) return base::unavailable("cannot write");
    return {};
  }

  // Rows that are no rows are the input's fault here: nobody sends them again.
  Failure refused(const std::string& name, const base::Error& error) const {
    if (write_error_ != 0) return local(shown() + " cannot be written", write_error_);
    const bool broken = error.category == base::ErrorCategory::kUnavailable;
    return {broken ? kInvalidInput : exit_code_of(error), name + ": " + error.message, false};
  }

  // Nothing becomes visible that was not read back.
  std::optional<Failure> finish() {
    if (more_follow_) {
      return Failure{kInvalidInput,
                     "the last page says hasMore, so rows are missing; give all pages", false};
    }
    const auto report = writer_->close();
    if (!report.ok()) return refused(shown(), report.error());
    const auto opened = open_file(file_.hidden_path());
    if (const auto* failure = std::get_if<Failure>(&opened)) return *failure;
    const auto& source = std::get<xlsx::LocalFile>(opened);
    const auto verified = xlsx::verify_package(source.size, source.read);
    if (!verified.ok()) return about(arguments_.output, verified.error());
    if (interrupted_()) return interrupted();
    if (const int error = file_.publish()) return local(shown() + " cannot be written", error);
    print(*report);
    return std::nullopt;
  }

  void print(const xlsx::WriterReport& report) {
    if (!arguments_.json) {
      console_.result_line(fmt::format("wrote {}: {} rows, {}", shown(), grouped(report.rows),
                                       readable_size(static_cast<std::int64_t>(report.bytes))));
      for (const std::string& note :
           notes_of([&](std::string_view key) { return figure(report, key); })) {
        console_.result_line("  note: " + note);
      }
      return;
    }
    base::JsonWriter out;
    out.begin_object().field("path", arguments_.output).field("rows", report.rows);
    out.key("rowsPerSheet").begin_array();
    for (const std::int64_t rows : report.rows_per_sheet) out.value(rows);
    out.end_array().field("bytes", report.bytes);
    for (const auto& [key, member] : kFigures) out.field(key, report.*member);
    out.end_object();
    console_.result_line(out.text());
  }

  static std::int64_t figure(const xlsx::WriterReport& report, std::string_view key) {
    for (const auto& [name, member] : kFigures) {
      if (name == key) return report.*member;
    }
    return 0;
  }

  const Arguments& arguments_;
  const Environment& environment_;
  Console& console_;
  const std::function<bool()> interrupted_ = catch_interrupts();
  bool more_follow_ = false;
  NewFile file_;
  int write_error_ = 0;
  exporting::PageParser parser_;
  std::string schema_hash_;
  std::unique_ptr<xlsx::Writer> writer_;
};

// The sheet that --sheet names: a number from 1, or else a name.
std::optional<std::size_t> find_sheet(const xlsx::Reader& reader, const std::string& wanted) {
  if (wanted.empty()) return reader.default_sheet();
  const auto& sheets = reader.sheets();
  const std::optional<std::int64_t> number = base::parse_int(wanted);
  if (number && *number >= 1 && static_cast<std::size_t>(*number) <= sheets.size())
    return static_cast<std::size_t>(*number) - 1;
  for (std::size_t i = 0; i < sheets.size(); ++i) {
    if (sheets[i].name == wanted) return i;
  }
  return std::nullopt;
}

// {"row":2,"cells":["text",1.5,null,true]}, null for empty cells between others.
void append_row(std::string& out, const xlsx::Row& row) {
  out += fmt::format("{{\"row\":{},\"cells\":[", row.number);
  std::uint32_t column = 0;
  for (const xlsx::Cell& cell : row.cells) {
    for (; column < cell.column; ++column) out += "null,";
    xlsx::append_json(out, cell);
    out += ',';
    ++column;
  }
  out.back() = ']';
  out += "}\n";
}

int to_json(const Arguments& arguments, Console& console) {
  const auto opened = open_file(arguments.file);
  if (const auto* failure = std::get_if<Failure>(&opened)) return fail(console, *failure);
  const auto& file = std::get<xlsx::LocalFile>(opened);
  const auto wrong = [&](const base::Error& error) {
    return fail(console, about(arguments.file, error));
  };
  const auto reader = xlsx::Reader::open(file.size, file.read);
  if (!reader.ok()) return wrong(reader.error());
  const std::optional<std::size_t> sheet = find_sheet(**reader, arguments.sheet);
  if (!sheet) {
    return wrong(base::not_found(fmt::format("there is no sheet {}; it has {}",
                                             base::printable(arguments.sheet, 60),
                                             (*reader)->sheets().size())));
  }
  const auto rows = (*reader)->open_sheet(*sheet);
  if (!rows.ok()) return wrong(rows.error());
  std::string line;
  for (;;) {
    const auto row = (*rows)->next();
    if (!row.ok()) return wrong(row.error());
    if (*row == nullptr) return kDone;
    line.clear();
    append_row(line, **row);
    console.result(line);
  }
}

void print(const xlsx::Inspection& inspection, const Arguments& arguments, Console& console) {
  if (arguments.json) {
    base::JsonWriter out;
    out.begin_object().key("sheets").begin_array();
    for (const xlsx::InspectedSheet& sheet : inspection.sheets) {
      out.begin_object().field("name", sheet.name).field("rows", sheet.rows);
      out.field("cells", sheet.cells).end_object();
    }
    out.end_array().key("findings").begin_array();
    for (const std::string& finding : inspection.findings) out.value(finding);
    out.end_array().field("leftOut", inspection.left_out).end_object();
    return console.result_line(out.text());
  }
  for (const std::string& finding : inspection.findings) console.result_line(finding);
  if (inspection.left_out > 0)
    console.result_line(fmt::format("and {} more findings", grouped(inspection.left_out)));
  for (const xlsx::InspectedSheet& sheet : inspection.sheets) {
    console.result_line(fmt::format("sheet {}: {} rows, {} cells", base::printable(sheet.name, 60),
                                    grouped(sheet.rows), grouped(sheet.cells)));
  }
  if (inspection.findings.empty())
    console.result_line(base::printable(arguments.file, 300) + ": nothing is wrong");
}

int verify(const Arguments& arguments, Console& console) {
  const auto opened = open_file(arguments.file);
  if (const auto* failure = std::get_if<Failure>(&opened)) return fail(console, *failure);
  const auto& file = std::get<xlsx::LocalFile>(opened);
  const auto inspection = xlsx::inspect_workbook(file.size, file.read);
  if (!inspection.ok()) return fail(console, about(arguments.file, inspection.error()));
  print(*inspection, arguments, console);
  return inspection->findings.empty() ? kDone : kInvalidInput;
}

}  // namespace

int run_xlsx_command(const Arguments& arguments, const Environment& environment, Console& console) {
  switch (arguments.command) {
    case Command::kXlsxFromJson:
      return FromJson(arguments, environment, console).run();
    case Command::kXlsxToJson:
      return to_json(arguments, console);
    default:
      return verify(arguments, console);
  }
}

}  // namespace waybill::app::cli
