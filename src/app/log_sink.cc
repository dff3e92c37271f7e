// The only file that knows spdlog. It brings the file with its rotation and the buffering; the text
// is ours.

#include "app/log_sink.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/json_writer.h"
#include "base/text.h"

namespace waybill::app {
namespace {

constexpr std::string_view kMasked = "********";

std::string_view level_word(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::kDebug:
      return "debug";
    case base::LogLevel::kInfo:
      return "info";
    case base::LogLevel::kWarn:
      return "warn";
    case base::LogLevel::kError:
      return "error";
    case base::LogLevel::kCritical:
      return "critical";
    case base::LogLevel::kAudit:
      return "audit";
  }
  return "info";
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool names_a_credential(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kWords{"token",    "secret", "authorization",
                                                          "password", "cookie", "signature"};
  const std::string name = lower(key);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](auto word) { return name.find(word) != name.npos; });
}

// Masks what follows each of the marks up to the next blank or separator: messages of other
// programs may quote headers and signed addresses.
std::string mask_credentials(std::string text) {
  static constexpr std::array<std::string_view, 8> kMarks{
      "bearer ",
      "x-amz-signature=",
      "x-amz-credential=",
      "signature=",
      "x-internal-service-token: ",
      "password=",
      "access_token=",
      "eyj"};  // the last: how every JWT and JWE begins
  std::string low = lower(text);
  for (const std::string_view mark : kMarks) {
    for (std::size_t at = 0; (at = low.find(mark, at)) != std::string::npos;) {
      const std::size_t start = at + mark.size();
      const std::size_t end = std::min(text.find_first_of(" &\"',;\\", start), text.size());
      text.replace(start, end - start, kMasked);
      low.replace(start, end - start, kMasked);
      at = start + kMasked.size();
    }
  }
  return text;
}

class SpdlogSink final : public base::LogSink {
 public:
  SpdlogSink(spdlog::sink_ptr sink, LogSinkOptions options, const base::Clock& clock)
      : logger_("waybill", std::move(sink)), options_(std::move(options)), clock_(clock) {
    logger_.set_pattern("%v");
    logger_.set_level(spdlog::level::trace);
    logger_.flush_on(spdlog::level::trace);
    logger_.set_error_handler(
        [](const std::string&) {});  // a full disk must not write to the terminal
  }

  void write(base::LogLevel level, std::string_view event,
             std::span<const base::LogField> fields) override {
    if (level < options_.level && level != base::LogLevel::kAudit) return;
    try {
      const std::string line =
          format_log_line(clock_.wall_ms(), options_.zone, level, event, fields);
      logger_.log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    } catch (...) {  // out of memory: a lost line is better than a lost process
    }
  }

 private:
  spdlog::logger logger_;
  LogSinkOptions options_;
  const base::Clock& clock_;
};

}  // namespace

std::string format_log_line(base::Millis wall_ms, const base::TimeZone& zone, base::LogLevel level,
                            std::string_view event, std::span<const base::LogField> fields) {
  base::JsonWriter json;
  json.begin_object();
  json.field("time", zone.iso(wall_ms)).field("level", level_word(level));
  json.field("event", base::printable(event, kMaxLogText));
  for (const base::LogField& field : fields.first(std::min(fields.size(), kMaxLogFields))) {
    json.key(base::printable(field.key, 100));
    if (const auto* text = std::get_if<std::string>(&field.value)) {
      json.value(names_a_credential(field.key)
                     ? std::string(kMasked)
                     : mask_credentials(base::printable(*text, kMaxLogText)));
    } else {
      std::visit(
          [&json](const auto& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::string>)
              json.value(value);
          },
          field.value);
    }
  }
  json.end_object();
  return json.take();
}

base::Result<std::unique_ptr<base::LogSink>> make_log_sink(const LogSinkOptions& options,
                                                           const base::Clock& clock) {
  try {
    spdlog::sink_ptr sink;
    if (options.file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(options.file, kMaxLogFileBytes,
                                                                    kMaxLogFiles);
    }
    return std::unique_ptr<base::LogSink>(
        std::make_unique<SpdlogSink>(std::move(sink), options, clock));
  } catch (const std::exception& e) {
    base::Error error = base::internal("the log file " + base::printable(options.file, 300) +
                                       " cannot be written: " + base::printable(e.what(), 200));
    error.field = kLogFileField;
    return error;
  }
}

}  // namespace waybill::app
