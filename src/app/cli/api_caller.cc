#include "app/cli/api_caller.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/text.h"

namespace waybill::app::cli {
namespace {

constexpr std::string_view kPrefix = "/api/platform/v1";
constexpr base::Millis kConnectTimeoutMs = 5'000;
constexpr base::Millis kDownloadTimeoutMs = 6LL * 60 * 60 * 1'000;  // of one transfer
constexpr std::size_t kMaxAnswerBytes = 16u << 20;
constexpr std::size_t kMaxDownloadBytes = 8ull
                                          << 30;  // twice the largest file that a type may have
constexpr std::size_t kShownMessage = 500;        // characters

std::string text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains({key.data(), key.size()});
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

}  // namespace

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

ApiCaller::ApiCaller(Endpoint endpoint, base::Millis timeout_ms, std::function<bool()> stop,
                     std::unique_ptr<client::HttpClient> http)
    : endpoint_(std::move(endpoint)),
      timeout_ms_(timeout_ms),
      stop_(std::move(stop)),
      http_(std::move(http)) {}

std::variant<std::unique_ptr<ApiCaller>, Failure> ApiCaller::make(Endpoint endpoint,
                                                                  base::Millis timeout_ms,
                                                                  std::function<bool()> stop) {
  client::AllowList allow;
  if (const auto allowed = allow.allow(endpoint.url); !allowed.ok()) {
    return Failure{kUsage, "the server address " +
                               base::printable(without_password(endpoint.url), 200) +
                               " is not one: " + allowed.error().message};
  }
  auto http = client::make_http_client(std::move(allow));
  return std::unique_ptr<ApiCaller>(
      new ApiCaller(std::move(endpoint), timeout_ms, std::move(stop), std::move(http)));
}

client::Request ApiCaller::request(std::string_view method, const std::string& path,
                                   const Headers& headers) const {
  client::Request request;
  request.method = method;
  request.url = endpoint_.url + std::string(kPrefix) + path;
  request.headers = headers;
  if (!endpoint_.token.empty())
    request.headers.emplace_back("Authorization", "Bearer " + endpoint_.token);
  request.headers.emplace_back("Accept-Language", "en");
  request.connect_timeout_ms = std::min(kConnectTimeoutMs, timeout_ms_);
  request.total_timeout_ms = timeout_ms_;
  request.max_body_bytes = kMaxAnswerBytes;
  request.stop = stop_;
  return request;
}

Failure ApiCaller::failure_of(const base::Error& error) const {
  Failure failure{exit_code_of(error), base::printable(error.message, kShownMessage),
                  base::is_transient(error.category),
                  error.category == base::ErrorCategory::kTimeout};
  if (failure.exit_code == kUnreachable) {
    failure.message = "cannot reach " + without_password(endpoint_.url) + ": " + failure.message;
  } else if (failure.exit_code == kInvalidInput && error.field == "headers") {
    failure = {kNotAllowed, "the token holds characters that no token has", false};
  }
  return failure;
}

Failure ApiCaller::failure_of(const client::Response& response) const {
  boost::system::error_code error;
  const auto envelope = boost::json::parse(response.body, error);
  if (error || !envelope.is_object() || !envelope.as_object().contains("code")) {
    return {exit_code_of_answer(response.status, 0),
            fmt::format("{} answered HTTP {} and is no Waybill server",
                        without_password(endpoint_.url), response.status),
            false};
  }
  const auto& object = envelope.as_object();
  const auto* number = object.if_contains("number");
  Failure failure;
  failure.exit_code = exit_code_of_answer(
      response.status, number != nullptr && number->is_int64() ? number->as_int64() : 0);
  failure.message = base::printable(text_of(object, "message"), kShownMessage) + " (" +
                    text_of(object, "code") + ")";
  if (endpoint_.token.empty() && failure.exit_code == kNotAllowed)
    failure.message += "; give --token or WAYBILL_TOKEN";
  failure.transient = response.status == 503 || response.status == 502;
  return failure;
}

Answer ApiCaller::call(std::string_view method, const std::string& path, std::string body,
                       const Headers& headers) {
  client::Request to_send = request(method, path, headers);
  if (!body.empty()) to_send.headers.emplace_back("Content-Type", "application/json");
  to_send.body = std::move(body);
  const auto response = http_->send(to_send);
  if (!response.ok()) return failure_of(response.error());
  boost::system::error_code error;
  const auto envelope = boost::json::parse(response->body, error);
  if (error || !envelope.is_object() || text_of(envelope.as_object(), "code") != "200")
    return failure_of(*response);
  const auto* data = envelope.as_object().if_contains("data");
  return data == nullptr ? std::string("null") : boost::json::serialize(*data);
}

std::variant<ApiCaller::Downloaded, Failure> ApiCaller::download(
    const std::string& path, const Headers& headers,
    std::function<base::Status(std::string_view)> on_body) {
  client::Request to_send = request("GET", path, headers);
  to_send.total_timeout_ms = kDownloadTimeoutMs;
  to_send.max_body_bytes = kMaxDownloadBytes;
  to_send.on_body = std::move(on_body);
  const auto response = http_->send(to_send);
  if (!response.ok()) return failure_of(response.error());
  if (response->status != 200 && response->status != 206) return failure_of(*response);
  std::string etag(response->header("etag"));
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"')
    etag = etag.substr(1, etag.size() - 2);
  return Downloaded{response->status, std::move(etag),
                    std::string(response->header("content-range"))};
}

}  // namespace waybill::app::cli
