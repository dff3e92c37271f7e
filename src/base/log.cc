#include "base/log.h"

#include <atomic>

namespace waybill::base {
namespace {
std::atomic<LogSink*> g_sink{nullptr};
}  // namespace

void set_log_sink(LogSink* sink) { g_sink.store(sink); }

void log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (LogSink* sink = g_sink.load()) sink->write(level, event, fields);
}

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  log(level, event, std::span<const LogField>(fields.begin(), fields.size()));
}

}  // namespace waybill::base
