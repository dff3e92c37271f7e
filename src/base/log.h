// The logging facade: one event = one record with named fields. The app decides where records go
// and how they look (one JSON object per line); without a sink they are dropped, so libraries and
// tests stay silent.
//
// Never log tokens, parameters, cell values or file contents. Text from outside is a field, never
// part of `event`.

#ifndef WAYBILL_BASE_LOG_H_
#define WAYBILL_BASE_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace waybill::base {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kCritical, kAudit };

struct LogField {
  std::string_view
      key;  // lowerCamel: taskId, eventId, dispatchVersion, type, tenantId, requestId, traceId, ...
  std::variant<std::int64_t, double, bool, std::string> value;

  LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, std::string_view v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, bool v) : key(k), value(v) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  LogField(std::string_view k, std::int64_t v) : key(k), value(v) {}
  LogField(std::string_view k, int v) : key(k), value(static_cast<std::int64_t>(v)) {}
  LogField(std::string_view k, std::uint64_t v) : key(k), value(static_cast<std::int64_t>(v)) {}
};

// Thread-safe. write() must not throw and must not log.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(LogLevel level, std::string_view event, std::span<const LogField> fields) = 0;
};

// Installs the process's sink; null removes it. `sink` must outlive all logging. Not for use while
// other threads log.
void set_log_sink(LogSink* sink);

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
void log(LogLevel level, std::string_view event, std::span<const LogField> fields);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_LOG_H_
