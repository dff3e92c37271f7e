// Where log records go: one JSON object per line, whatever text they carry.

#ifndef WAYBILL_APP_LOG_SINK_H_
#define WAYBILL_APP_LOG_SINK_H_

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time_zone.h"

namespace waybill::app {

inline constexpr std::size_t kMaxLogText =
    1'000;  // characters of one field; longer ones are cut with an ellipsis
inline constexpr std::size_t kMaxLogFields = 40;  // of one record; the rest is left out
inline constexpr std::size_t kMaxLogFileBytes =
    16u << 20;                                  // then the file becomes .1, the old .1 becomes .2
inline constexpr std::size_t kMaxLogFiles = 2;  // old ones kept

// Text of one record without its line end: {"time":...,"level":...,"event":...,fields}. Control
// characters, line separators and ill-formed bytes are escaped, so that one record is one line for
// every reader; the values of fields that carry credentials by their name (token, secret,
// authorization, password, cookie) and bearer tokens and signatures inside texts are masked.
std::string format_log_line(base::Millis wall_ms, const base::TimeZone& zone, base::LogLevel level,
                            std::string_view event, std::span<const base::LogField> fields);

struct LogSinkOptions {
  base::LogLevel level = base::LogLevel::kInfo;  // least level written; kAudit is always written
  std::string file;                              // empty = stderr
  base::TimeZone zone;
};

// Error::field of a log file that cannot be written.
inline constexpr std::string_view kLogFileField = "log.file";

// Thread-safe. kInternal with kLogFileField when the file cannot be written.
base::Result<std::unique_ptr<base::LogSink>> make_log_sink(const LogSinkOptions& options,
                                                           const base::Clock& clock);

// For as long as it lives, records go to `sink`.
class LogScope {
 public:
  explicit LogScope(std::unique_ptr<base::LogSink> sink) : sink_(std::move(sink)) {
    base::set_log_sink(sink_.get());
  }
  ~LogScope() { base::set_log_sink(nullptr); }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  std::unique_ptr<base::LogSink> sink_;
};

}  // namespace waybill::app

#endif  // WAYBILL_APP_LOG_SINK_H_
