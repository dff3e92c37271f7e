#include "exporting/provider_client.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "exporting/retry_after.h"

namespace waybill::exporting {
namespace {

using core::FailureClass;

constexpr double kRetryJitter = 0.2;  // upwards only: nobody is asked earlier than promised
constexpr std::size_t kShownTransportError = 200;  // characters

std::string seconds_text(base::Millis ms) {
  const bool whole = ms % 1'000 == 0;
  return whole ? std::to_string(ms / 1'000) + " seconds" : std::to_string(ms) + " ms";
}

std::string http_word(int status) { return "(HTTP " + std::to_string(status) + ")"; }

std::string hex16(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, number >>= 4)
    out[static_cast<std::size_t>(i)] = kDigits[number & 15];
  return out;
}

std::string join_url(const std::string& base_url, const std::string& path) {
  const std::size_t end = base_url.find_last_not_of('/');
  return (end == std::string::npos ? std::string() : base_url.substr(0, end + 1)) + path;
}

void string_or_null(base::JsonWriter& json, std::string_view name, const std::string& text,
                    bool null) {
  json.key(name);
  if (null) {
    json.null();
  } else {
    json.value(text);
  }
}

}  // namespace

std::string make_traceparent(std::string_view trace_id, base::Random& random) {
  std::string trace;
  const bool whole = trace_id.size() == 55 && trace_id[2] == '-' && trace_id[35] == '-';
  for (const char c : whole ? trace_id.substr(3, 32) : trace_id) {
    if (c != '-') trace += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const bool usable = trace.size() == 32 &&
                      trace.find_first_not_of("0123456789abcdef") == std::string::npos &&
                      trace.find_first_not_of('0') != std::string::npos;
  // The last bit keeps an all-zero id out, which the standard forbids.
  if (!usable) trace = hex16(random.next()) + hex16(random.next() | 1);
  return "00-" + trace + "-" + hex16(random.next() | 1) + "-01";
}

// What one HTTP call came to.
struct ProviderClient::Attempt {
  std::variant<ProviderPage, Failure> result;
  bool retry_here = false;  // the same page may be asked for again at once

  static Attempt done(std::variant<ProviderPage, Failure> value) {
    return {std::move(value), false};
  }
  static Attempt again(Failure failure) { return {std::move(failure), true}; }
};

ProviderClient::ProviderClient(ProviderCall call, ProviderAccess access)
    : call_(std::move(call)), access_(access) {}

std::variant<ProviderPage, Failure> ProviderClient::fetch(const PageRequest& request) {
  const auto& delays = access_.settings.page_retry_ms;
  for (std::size_t tried = 0;; ++tried) {
    if (access_.guard.must_stop()) return stopped();
    const base::Millis began = access_.clock.boot_ms();
    Attempt outcome = attempt(request);
    auto* failure = std::get_if<Failure>(&outcome.result);
    access_.observer.on_provider_request(call_.service_name, call_.task.type,
                                         access_.clock.boot_ms() - began, failure == nullptr);
    if (failure == nullptr || !outcome.retry_here || tried == delays.size())
      return std::move(outcome.result);
    const base::Millis asked = failure->retry_after_ms.value_or(0);
    if (asked > kMaxRetryAfterHere) return std::move(outcome.result);
    const double factor = 1.0 + kRetryJitter * access_.random.unit();
    const auto delay = static_cast<double>(std::max(delays[tried], asked)) * factor;
    if (!access_.waiter.wait(static_cast<base::Millis>(delay), access_.guard.as_function()))
      return stopped();
  }
}

std::string ProviderClient::body_of(const PageRequest& request) const {
  const store::ClaimedTask& task = call_.task;
  base::JsonWriter json;
  json.begin_object();
  json.key("taskId").id(task.execution.id);
  json.field("tenantId", task.tenant_id);
  json.field("appCode", task.app_code);
  json.field("requestedBy", task.requested_by);
  json.field("dispatchVersion", task.execution.version);
  json.key("parameters").raw(call_.parameters_json.empty() ? "{}" : call_.parameters_json);
  string_or_null(json, "cursor", request.cursor, request.first);
  string_or_null(json, "snapshotToken", request.snapshot_token, request.first);
  json.field("limit", call_.limit);
  json.end_object();
  return json.take();
}

ProviderClient::Attempt ProviderClient::attempt(const PageRequest& request) {
  auto token = call_.service.token();
  if (!token.ok()) {
    return Attempt::again(transient(FailureClass::kSystem, "The service token cannot be read."));
  }
  client::Request http;
  http.url = join_url(call_.service.base_url, call_.path);
  http.headers = {{"X-Internal-Service-Token", *std::move(token)},
                  {"Content-Type", "application/json"},
                  {"traceparent", make_traceparent(call_.task.trace_id, access_.random)}};
  http.body = body_of(request);
  http.connect_timeout_ms = access_.settings.connect_timeout_ms;
  http.total_timeout_ms = access_.settings.read_timeout_ms;
  http.max_body_bytes = kMaxPageBytes;
  http.stop = access_.guard.as_function();
  auto answer = access_.http.send(http);
  if (!answer.ok()) return judge(answer.error());
  return judge(*std::move(answer), request);
}

ProviderClient::Attempt ProviderClient::judge(const base::Error& error) const {
  switch (error.category) {
    case base::ErrorCategory::kCancelled:
      return Attempt::done(stopped());
    case base::ErrorCategory::kLimit:
      return Attempt::done(permanent(FailureClass::kLimit,
                                     error.field == "headers"
                                         ? "The business service's answer has too large headers."
                                         : "A page of the business service is larger than " +
                                               std::to_string(kMaxPageBytes >> 20) + " MiB."));
    case base::ErrorCategory::kDenied:
    case base::ErrorCategory::kInvalid:
      return Attempt::done(permanent(
          FailureClass::kSystem, "The request to the business service is not allowed: " +
                                     base::printable(error.message, kShownTransportError) + "."));
    case base::ErrorCategory::kTimeout:
      return Attempt::again(transient(FailureClass::kTimeout,
                                      "The business service did not answer within " +
                                          seconds_text(access_.settings.read_timeout_ms) + "."));
    default:
      return Attempt::again(transient(
          FailureClass::kSystem, "The business service cannot be reached: " +
                                     base::printable(error.message, kShownTransportError) + "."));
  }
}

ProviderClient::Attempt ProviderClient::judge(client::Response response,
                                              const PageRequest& request) {
  const int status = response.status;
  if (status == 429 || status >= 500) {
    Failure failure = transient(
        FailureClass::kSystem, (status == 429 ? "The business service asks to be called less often "
                                              : "The business service is not available ") +
                                   http_word(status) + ".");
    failure.retry_after_ms = parse_retry_after(response.header("retry-after"),
                                               response.header("date"), access_.clock.wall_ms());
    return Attempt::again(std::move(failure));
  }
  if (status >= 400) {
    const std::string message = parser_.error_message(std::move(response.body));
    return Attempt::done(
        permanent(FailureClass::kBusiness, "The business service refused the export" +
                                               (message.empty() ? "" : ": " + message) + " " +
                                               http_word(status) + "."));
  }
  if (status != 200) {
    const char* what =
        status >= 300 ? "a redirect, which is not followed " : "an unexpected status ";
    return Attempt::done(permanent(
        FailureClass::kValidation,
        std::string("The business service answered with ") + what + http_word(status) + "."));
  }
  if (!response.header("content-encoding").empty()) {
    return Attempt::done(
        permanent(FailureClass::kValidation,
                  "The business service's answer has a Content-Encoding, which was "
                  "not asked for."));
  }
  auto page = parser_.parse(std::move(response.body), {call_.limit, request.first});
  const auto* failure = std::get_if<Failure>(&page);
  const bool again = failure != nullptr && failure->kind == Failure::Kind::kTransient;
  return {std::move(page), again};
}

}  // namespace waybill::exporting
