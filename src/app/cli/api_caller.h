// One call of the API: sends, reads the envelope, and turns whatever went wrong into one line and
// an exit code.

#ifndef WAYBILL_APP_CLI_API_CALLER_H_
#define WAYBILL_APP_CLI_API_CALLER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/cli/endpoint.h"
#include "app/cli/exit_code.h"
#include "client/http_client.h"

namespace waybill::app::cli {

struct Failure {
  ExitCode exit_code = kInternal;
  std::string message;  // one line
  bool transient = false;
  bool unanswered = false;  // the server may have done it all the same
};

// The data of an answer as JSON text, or a Failure.
using Answer = std::variant<std::string, Failure>;

class ApiCaller {
 public:
  // `stop`: true ends a call with kInterrupted.
  static std::variant<std::unique_ptr<ApiCaller>, Failure> make(Endpoint endpoint,
                                                                base::Millis timeout_ms,
                                                                std::function<bool()> stop);

  using Headers = std::vector<std::pair<std::string, std::string>>;
  // `path` below the API's prefix, query included.
  Answer call(std::string_view method, const std::string& path, std::string body = {},
              const Headers& headers = {});

  struct Downloaded {
    int status = 0;
    std::string etag;  // without quotes
    std::string content_range;
  };
  // Streams a file's bytes. `headers` may ask for a range.
  std::variant<Downloaded, Failure> download(const std::string& path, const Headers& headers,
                                             std::function<base::Status(std::string_view)> on_body);

 private:
  ApiCaller(Endpoint endpoint, base::Millis timeout_ms, std::function<bool()> stop,
            std::unique_ptr<client::HttpClient> http);
  [[nodiscard]] client::Request request(std::string_view method, const std::string& path,
                                        const Headers& headers) const;
  [[nodiscard]] Failure failure_of(const base::Error& error) const;
  [[nodiscard]] Failure failure_of(const client::Response& response) const;

  const Endpoint endpoint_;
  const base::Millis timeout_ms_;
  const std::function<bool()> stop_;
  const std::unique_ptr<client::HttpClient> http_;
};

// Percent-encodes one query value or path segment.
std::string url_encode(std::string_view text);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_API_CALLER_H_
