#include "http/response_head.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/log.h"

namespace waybill::http {
namespace {

bool safe(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

void add(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

std::string http_date(base::Millis utc_ms) {
  static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = utc_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                                 kMonths.at(static_cast<std::size_t>(parts.tm_mon)),
                                 parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string response_head(const Response& response, const Framing& framing,
                          std::string_view server_name, std::string_view request_id,
                          base::Millis now_ms) {
  std::string out;
  out.reserve(512);
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  for (const auto& [name, value] : response.headers) {
    if (safe(name) && safe(value)) {
      add(out, name, value);
    } else {
      base::log(base::LogLevel::kError, "http_header_dropped", {{"name", name}});
    }
  }
  add(out, "Date", http_date(now_ms));
  add(out, "Server", server_name);
  add(out, "X-Request-Id", request_id);
  add(out, "X-Content-Type-Options", "nosniff");
  if (framing.content_length) add(out, "Content-Length", std::to_string(*framing.content_length));
  if (framing.chunked) add(out, "Transfer-Encoding", "chunked");
  if (!framing.keep_alive) add(out, "Connection", "close");
  out += "\r\n";
  return out;
}

}  // namespace waybill::http
