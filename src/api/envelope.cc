#include "api/envelope.h"

#include <cstdlib>

#include "api/api.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace waybill::api {
namespace {

constexpr std::string_view kRetryAfterSeconds = "1";

http::Response json_response(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json; charset=utf-8");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

// Numbers as numbers, so that a client can compare them.
void write_amount(base::JsonWriter& json, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  if (const auto number = base::parse_int(value)) {
    json.field(name, *number);
  } else {
    json.field(name, value);
  }
}

void write_error_data(base::JsonWriter& json, const base::Error& error) {
  json.key("data");
  if (error.field.empty() && error.limit.empty() && error.actual.empty()) {
    json.null();
    return;
  }
  json.begin_object();
  if (!error.field.empty()) json.field("field", error.field);
  write_amount(json, "limit", error.limit);
  if (!error.unit.empty()) json.field("unit", error.unit);
  write_amount(json, "actual", error.actual);
  json.end_object();
}

}  // namespace

Language language_of(const http::Request& request) {
  double chinese = -1;
  double english = -1;
  for (const std::string_view part : base::split(request.header("accept-language"), ',')) {
    const std::string_view range = base::trim(part.substr(0, part.find(';')));
    double quality = 1;
    if (const std::size_t q = part.find("q="); q != std::string_view::npos) {
      quality = std::strtod(std::string(part.substr(q + 2)).c_str(), nullptr);
    }
    if (quality <= 0) continue;
    if (range.starts_with("zh") || range.starts_with("ZH")) chinese = std::max(chinese, quality);
    if (range.starts_with("en") || range.starts_with("EN")) english = std::max(english, quality);
  }
  return chinese > english ? Language::kChinese : Language::kEnglish;
}

http::Response success(const http::Request& request, std::string_view data) {
  base::JsonWriter json;
  json.begin_object().field("code", "200");
  json.field("message", language_of(request) == Language::kChinese ? "成功" : "OK");
  json.key("data").raw(data);
  json.field("requestId", request.request_id).end_object();
  return json_response(200, json.take());
}

http::Response failure(const http::Request& request, const base::Error& error, bool real_status) {
  const ErrorInfo& info = error_info(error);
  base::JsonWriter json;
  json.begin_object().field("code", info.word).field("number", info.number);
  json.field("message", error_text(info, error, language_of(request)));
  write_error_data(json, error);
  json.field("requestId", request.request_id).end_object();
  const int status = real_status || info.always ? info.http_status : 200;
  http::Response response = json_response(status, json.take());
  if (status == 503 || status == 429)
    response.headers.emplace_back("Retry-After", kRetryAfterSeconds);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

http::Response server_error(int status, std::string_view code, std::string_view message,
                            const http::Request* request) {
  const http::Request none;
  base::Error error;
  error.code = std::string(code);
  error.message = std::string(message);
  http::Response response = failure(request != nullptr ? *request : none, error, true);
  response.status = status;
  std::erase_if(response.headers, [](const auto& header) { return header.first == "Retry-After"; });
  return response;
}

}  // namespace waybill::api
