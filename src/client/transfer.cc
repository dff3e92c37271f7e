#include "client/transfer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "client/address.h"

namespace waybill::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A silent peer is left alone this long before stop() is asked again; half of what the interface
// promises.
constexpr milliseconds kStopPeriod{100};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// RFC 9110 §9.2.2: only these may be sent again on a new connection without knowing what became of
// the first.
bool idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
         method == "OPTIONS";
}

base::Error no_memory() {
  return base::unavailable("the HTTP library has no memory for another request");
}

}  // namespace

Transfer::Transfer(const Request& request, const Url& url, CURLM* multi, CURL* easy)
    : request_(request), url_(url), multi_(multi), easy_(easy) {}

Transfer::~Transfer() {
  curl_easy_reset(easy_);  // it points at this object and at the request; connections stay
  curl_slist_free_all(header_list_);
}

base::Result<Response> Transfer::run() {
  WAYBILL_TRY(set_options());
  if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) return no_memory();
  const auto ended = wait();
  base::Result<Response> result = [&]() -> base::Result<Response> {
    if (!ended.ok()) return ended.error();
    if (*ended != CURLE_OK) return explain(*ended);
    // libcurl is content with an answer that was cut between its headers.
    if (!headers_complete_) {
      return base::unavailable("the answer of " + url_.place() + " ended inside its headers");
    }
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    return std::move(response_);
  }();
  // An exchange that did not end well takes its connection with it here.
  curl_multi_remove_handle(multi_, easy_);
  return result;
}

base::Status Transfer::set_options() {
  CURLcode code = CURLE_OK;
  const auto set = [&](CURLoption option, auto value) {
    if (code == CURLE_OK) code = curl_easy_setopt(easy_, option, value);
  };
  const std::string address = url_.origin() + url_.target;
  set(CURLOPT_URL, address.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");  // and so none from the environment
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_HTTP09_ALLOWED, 0L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_USERAGENT, "Waybill");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // or giving up would wait for a name server
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout_ms));
  set(CURLOPT_MAXAGE_CONN, 30L);  // seconds: shorter than most servers keep an idle connection
  set(CURLOPT_MAXLIFETIME_CONN, 300L);  // seconds: a changed DNS entry is noticed
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, &Transfer::on_connected);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  if (code != CURLE_OK && code != CURLE_OUT_OF_MEMORY) {
    return base::internal("the HTTP library refuses an option: " +
                          std::string(curl_easy_strerror(code)));
  }
  if (code != CURLE_OK || !set_method() || !set_headers()) return no_memory();
  return {};
}

bool Transfer::set_method() {
  if (request_.method == "HEAD") return curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L) == CURLE_OK;
  const bool always_has_body =
      request_.method == "POST" || request_.method == "PUT" || request_.method == "PATCH";
  CURLcode code = CURLE_OK;
  if (always_has_body || !request_.body.empty()) {
    code = curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                            static_cast<curl_off_t>(request_.body.size()));
    if (code == CURLE_OK) code = curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.data());
  } else {
    code = curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
  }
  return code == CURLE_OK &&
         curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str()) == CURLE_OK;
}

bool Transfer::set_headers() {
  const auto add = [this](const std::string& line) {
    curl_slist* longer = curl_slist_append(header_list_, line.c_str());
    if (longer != nullptr) header_list_ = longer;
    return longer != nullptr;
  };
  bool has_type = false;
  for (const auto& [name, value] : request_.headers) {
    has_type = has_type || lower(name) == "content-type";
    // libcurl's way to say "empty": with a colon the header would be left out.
    if (!add(value.empty() ? name + ";" : name + ": " + value)) return false;
  }
  // A name and a colon keep libcurl from adding its own.
  if (!add("Expect:") || (!has_type && !add("Content-Type:"))) return false;
  return curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_) == CURLE_OK;
}

base::Result<CURLcode> Transfer::wait() {
  const auto total = milliseconds(request_.total_timeout_ms);
  std::optional<Time> asked;
  for (;;) {
    const Time now = steady_clock::now();
    if (request_.stop && (!asked || now - *asked >= kStopPeriod / 2)) {
      asked = now;
      if (request_.stop()) return base::cancelled("the call to " + url_.place() + " was stopped");
    }
    int running = 0;
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      return base::internal("the HTTP library refused to go on");
    }
    if (running == 0) {
      int left = 0;
      const CURLMsg* message = curl_multi_info_read(multi_, &left);
      if (message == nullptr) return base::internal("the HTTP library did not say how it ended");
      return message->data.result;
    }
    milliseconds pause = kStopPeriod;
    if (sending_since_) {
      const auto left =
          std::chrono::ceil<milliseconds>(*sending_since_ + total - steady_clock::now());
      if (left <= milliseconds::zero()) return timed_out();
      pause = std::min(pause, left);
    }
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(pause.count()), nullptr);
  }
}

// Called for each try, when the connection stands and before the first byte of the request.
bool Transfer::may_send() {
  if (sending_since_ && !idempotent(request_.method)) {
    // libcurl would repeat a request whose reused connection broke before an answer came, but
    // nobody knows whether the first was obeyed.
    cut_ = Cut::kResend;
    return false;
  }
  if (!sending_since_) sending_since_ = steady_clock::now();
  return true;
}

bool Transfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > request_.max_header_bytes) {
    cut_ = Cut::kHeaders;
    return false;
  }
  if (headers_complete_) return true;
  line = base::trim(line);
  if (line.starts_with("HTTP/")) {
    response_.headers.clear();  // of an interim answer (1xx)
    return true;
  }
  if (line.empty()) {
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    headers_complete_ = status >= 200;
    if (headers_complete_ && announced_too_much()) {
      cut_ = Cut::kBody;
      return false;
    }
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  response_.headers.emplace_back(lower(base::trim(line.substr(0, colon))),
                                 std::string(base::trim(line.substr(colon + 1))));
  return true;
}

// A body that is announced as too long is not even begun.
bool Transfer::announced_too_much() const {
  if (request_.method == "HEAD") return false;
  const auto length = base::parse_int(response_.header("content-length"));
  return length && *length > 0 && static_cast<std::uint64_t>(*length) > request_.max_body_bytes;
}

bool Transfer::take_body(std::string_view bytes) {
  if (bytes.size() > request_.max_body_bytes - body_bytes_) {
    cut_ = Cut::kBody;
    return false;
  }
  body_bytes_ += bytes.size();
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (!request_.on_body || status < 200 || status > 299) {
    response_.body.append(bytes);
    return true;
  }
  taker_ = request_.on_body(bytes);
  if (!taker_.ok()) cut_ = Cut::kTaker;
  return taker_.ok();
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  try {
    return transfer->take_header({data, size * count}) ? size * count : 0;
  } catch (const std::bad_alloc&) {
    transfer->cut_ = Cut::kMemory;  // C code is above us; nothing may fly through it
    return 0;
  }
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  try {
    return transfer->take_body({data, size * count}) ? size * count : 0;
  } catch (const std::bad_alloc&) {
    transfer->cut_ = Cut::kMemory;
    return 0;
  }
}

int Transfer::on_connected(void* self, char* /*local*/, char* /*remote*/, int /*local_port*/,
                           int /*remote_port*/) {
  return static_cast<Transfer*>(self)->may_send() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

curl_socket_t Transfer::on_socket(void* self, curlsocktype purpose, curl_sockaddr* address) {
  if (purpose != CURLSOCKTYPE_IPCXN || forbidden_address(address->addr)) {
    static_cast<Transfer*>(self)->cut_ = Cut::kAddress;
    return CURL_SOCKET_BAD;
  }
  // Not inherited by programs that the process may start.
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

base::Error Transfer::timed_out() const {
  return base::timed_out("no complete answer from " + url_.place() + " within " +
                         std::to_string(request_.total_timeout_ms) + " ms (" +
                         std::to_string(body_bytes_) + " bytes of it came)");
}

base::Error Transfer::explain(CURLcode code) const {
  const std::string place = url_.place();
  switch (cut_) {
    case Cut::kHeaders:
      return base::over_limit("headers", static_cast<std::int64_t>(request_.max_header_bytes),
                              "bytes", static_cast<std::int64_t>(header_bytes_),
                              "the answer of " + place + " has more header bytes than allowed");
    case Cut::kBody: {
      const auto announced = base::parse_int(response_.header("content-length"));
      const auto limit = static_cast<std::int64_t>(request_.max_body_bytes);
      return base::over_limit("body", limit, "bytes", std::max(announced.value_or(0), limit + 1),
                              "the answer of " + place + " is longer than the allowed " +
                                  std::to_string(limit) + " bytes");
    }
    case Cut::kAddress:
      return base::denied(
          place + " resolved to a link-local or metadata address, which is never contacted");
    case Cut::kResend:
      return base::unavailable(place + " closed the connection without an answer");
    case Cut::kMemory:
      return base::unavailable("no memory for the answer of " + place);
    case Cut::kTaker:
      return taker_.error();
    case Cut::kNone:
      break;
  }
  if (!sending_since_) return explain_connecting(code);
  switch (code) {
    case CURLE_GOT_NOTHING:
      return base::unavailable(place + " closed the connection without an answer");
    case CURLE_PARTIAL_FILE:
      return base::unavailable("the answer of " + place + " ended early, after " +
                               std::to_string(body_bytes_) + " bytes of its body");
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return base::unavailable("the connection to " + place + " was lost");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return base::unavailable(place + " did not answer in HTTP");
    case CURLE_OUT_OF_MEMORY:
      // libcurl's own bound for one header line (100 KiB) shows as this.
      if (!headers_complete_) {
        return base::over_limit("headers", static_cast<std::int64_t>(request_.max_header_bytes),
                                "bytes", static_cast<std::int64_t>(request_.max_header_bytes) + 1,
                                "the answer of " + place + " has a header line that never ends");
      }
      return base::unavailable("no memory for the answer of " + place);
    default:
      return base::unavailable("the call to " + place + " failed: " + curl_easy_strerror(code));
  }
}

base::Error Transfer::explain_connecting(CURLcode code) const {
  const std::string place = url_.place();
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return base::timed_out("no connection to " + place + " within " +
                             std::to_string(request_.connect_timeout_ms) + " ms");
    case CURLE_COULDNT_RESOLVE_HOST:
      return base::unavailable("the host name " + url_.host + " was not found");
    case CURLE_COULDNT_CONNECT: {
      long error_number = 0;
      curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &error_number);
      if (error_number == ECONNREFUSED) return base::unavailable("connection refused by " + place);
      std::string why;
      if (error_number != 0) {
        why = ": " + std::generic_category().message(static_cast<int>(error_number));
      }
      return base::unavailable("no connection to " + place + why);
    }
    case CURLE_PEER_FAILED_VERIFICATION:
      return base::unavailable("the certificate of " + place + " is not trusted");
    case CURLE_SSL_CONNECT_ERROR:
      return base::unavailable("no TLS connection to " + place);
    default:
      return base::unavailable("no connection to " + place + ": " + curl_easy_strerror(code));
  }
}

}  // namespace waybill::client
