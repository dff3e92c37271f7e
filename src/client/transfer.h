// One HTTP exchange over libcurl: options, callbacks with their limits, the waiting loop, and
// errors as sentences.

#ifndef WAYBILL_CLIENT_TRANSFER_H_
#define WAYBILL_CLIENT_TRANSFER_H_

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/http_client.h"
#include "client/url.h"

namespace waybill::client {

// kInvalid for a method, header, limit or combination that must not be sent.
base::Status check_request(const Request& request);

// Used once, by one thread. `easy` and `multi` belong to the caller, are idle, and are idle again
// afterwards.
class Transfer {
 public:
  // REQUIRES: check_request(request).ok(); `request` outlives this.
  Transfer(const Request& request, const Url& url, CURLM* multi, CURL* easy);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  base::Result<Response> run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Cut { kNone, kHeaders, kBody, kAddress, kResend, kMemory, kTaker };

  base::Status set_options();
  bool set_method();
  bool set_headers();
  // The code libcurl ended with, or an error of ours.
  base::Result<CURLcode> wait();
  base::Error explain(CURLcode code) const;
  base::Error explain_connecting(CURLcode code) const;
  base::Error timed_out() const;

  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);
  bool may_send();
  bool announced_too_much() const;

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static int on_connected(void* self, char* local, char* remote, int local_port, int remote_port);
  static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address);

  const Request& request_;
  const Url& url_;
  CURLM* multi_;
  CURL* easy_;
  curl_slist* header_list_ = nullptr;

  Response response_;
  std::optional<Time> sending_since_;
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  base::Status taker_;             // why the request's on_body() wants no more
  bool headers_complete_ = false;  // what comes after them are trailers, which nobody needs
  Cut cut_ = Cut::kNone;           // why a callback ended the exchange
};

}  // namespace waybill::client

#endif  // WAYBILL_CLIENT_TRANSFER_H_
