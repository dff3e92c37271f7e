#include "app/demo/run_demo.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "app/config.h"
#include "app/demo/business.h"
#include "app/demo/data_folder.h"
#include "app/log_sink.h"
#include "app/node.h"
#include "app/serve.h"
#include "app/settings.h"
#include "app/signals.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/text.h"

namespace waybill::app::demo {
namespace {

constexpr base::Millis kTokenValidMs = 24 * 3'600'000;
constexpr base::Millis kTokenPeriodMs = 12 * 3'600'000;
constexpr base::Millis kServiceGraceMs = 500;
constexpr int kServiceThreads = 6;
constexpr unsigned kPrivate = 0600;

std::string local_url(std::uint16_t port) { return fmt::format("http://127.0.0.1:{}", port); }

class Demo {
 public:
  Demo(std::string folder, const cli::Arguments& arguments, cli::Console& console)
      : folder_(std::move(folder)), arguments_(arguments), console_(console) {}

  base::Status run() {
    WAYBILL_TRY(bind());  // first: a taken port leaves no folder behind
    WAYBILL_TRY(prepare_folder(folder_));
    WAYBILL_TRY(open_log());
    WAYBILL_TRY(start_service());
    WAYBILL_TRY(start_node());
    WAYBILL_TRY(write_tokens());
    WAYBILL_TRY(describe());
    WAYBILL_TRY(node_->start());
    console_.result_line("Waybill is ready: " + local_url(node_->port()));
    serve();
    shut_down(spawner_, [this](const std::atomic<bool>& hurry) {
      node_->shutdown(&hurry);  // while the service still answers: running exports may end
      service_->stop();
      service_server_->stop(kServiceGraceMs);
    });
    return {};
  }

 private:
  base::Status bind() {
    WAYBILL_ASSIGN(service_port_, http::Listener::bind(http::ServerOptions{}.address, 0));
    ConfigSources sources;
    sources.file_name = "demo";
    sources.file_text = demo_config(folder_, arguments_.port, local_url(service_port_->port()));
    sources.environment = waybill_environment();
    LoadedConfig loaded = load_config(sources);
    if (!loaded.config) return base::invalid("demo", loaded.problems.front());
    config_ = std::move(loaded.config);
    WAYBILL_ASSIGN(ports_, bind_ports(*config_));
    return {};
  }

  base::Status open_log() {
    LogSinkOptions options;
    if (!arguments_.verbose) options.file = folder_ + "/waybill.log";
    WAYBILL_ASSIGN(options.zone, base::TimeZone::find(""));
    WAYBILL_ASSIGN(auto sink, make_log_sink(options, clock_));
    logs_ = std::make_unique<LogScope>(std::move(sink));
    return {};
  }

  base::Status start_service() {
    WAYBILL_ASSIGN(const std::string token, ensure_secret(folder_ + "/service-token", random_));
    service_ = std::make_unique<BusinessService>(token, tenants());
    http::ServerOptions options;
    options.handler_threads = kServiceThreads;
    options.server_name = "demo-service";
    WAYBILL_ASSIGN(service_server_,
                   http::Server::start(std::move(*service_port_), std::move(options),
                                       service_->routes(), spawner_, clock_, random_));
    const std::string registry = folder_ + "/registry.yaml";
    std::error_code error;
    if (std::filesystem::exists(registry, error)) return {};
    return write_file(registry, registry_yaml(), kPrivate);
  }

  base::Status start_node() {
    WAYBILL_TRY(ensure_secret(folder_ + "/secret", random_));
    WAYBILL_ASSIGN(Settings settings, make_settings(*config_));
    jwt_ = settings.jwt;
    check_ms_ = settings.registry_check_ms;
    WAYBILL_ASSIGN(node_, Node::build(std::move(settings), {clock_, clock_, random_, spawner_},
                                      std::move(*ports_)));
    return {};
  }

  base::Status write_tokens() {
    for (const api::Identity& user : users()) {
      WAYBILL_ASSIGN(const std::string token,
                     api::sign_demo_token(jwt_, user, clock_.wall_ms(), kTokenValidMs));
      WAYBILL_TRY(write_file(folder_ + "/tokens/" + user.user + ".jwt", token + "\n", kPrivate));
    }
    tokens_at_ = clock_.boot_ms();
    return {};
  }

  base::Status describe() {
    base::JsonWriter json;
    json.begin_object().field("url", local_url(node_->port()));
    json.field("managementUrl", local_url(node_->management_port()));
    json.field("providerUrl", local_url(service_server_->port())).end_object();
    return write_file(folder_ + "/" + kDescriptionFile, json.text() + "\n", kPrivate);
  }

  void serve() {
    for (Signal signal = Signal::kNone; signal != Signal::kStop;) {
      signal = wait_signal(check_ms_);
      if (signal != Signal::kStop) node_->reload_registry(signal == Signal::kNone);
      if (clock_.boot_ms() - tokens_at_ < kTokenPeriodMs) continue;
      const auto written = write_tokens();
      if (!written.ok())
        base::log(base::LogLevel::kError, "tokens_not_written",
                  {{"message", written.error().message}});
    }
  }

  const std::string folder_;
  const cli::Arguments& arguments_;
  cli::Console& console_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::ThreadSpawner spawner_;
  std::optional<http::Listener> service_port_;
  std::optional<Config> config_;
  std::optional<NodePorts> ports_;
  std::unique_ptr<LogScope> logs_;
  std::unique_ptr<BusinessService> service_;
  std::unique_ptr<http::Server> service_server_;
  std::unique_ptr<Node> node_;
  api::JwtSettings jwt_;
  base::Millis check_ms_ = 0, tokens_at_ = 0;
};

}  // namespace

std::string demo_config(const std::string& folder, int port, const std::string& provider_url) {
  const auto path = [&](std::string_view name) {
    std::string text;  // quoted: a folder may have any name
    base::append_json_string(text, folder + "/" + std::string(name));
    return text;
  };
  std::string database;
  base::append_json_string(database, "sqlite:" + folder + "/waybill.db");
  return fmt::format(
      "server: {{listen: '127.0.0.1:{}'}}\n"
      "management: {{listen: '127.0.0.1:0'}}\n"
      "database: {{url: {}}}\n"
      "files: {{directory: {{path: {}}}}}\n"
      "registry: {{file: {}, check_seconds: 1}}\n"
      "provider_services: {{{}: {{base_url: '{}', token_file: {}}}}}\n"
      "auth: {{mode: demo, jwt: {{secret_file: {}}}}}\n"
      "dispatch: {{retry_backoff_seconds: [2]}}\n"
      "export: {{page_retry_seconds: [0.2]}}\n"
      "shutdown: {{grace_seconds: 2}}\n",
      port, database, path("files"), path("registry.yaml"), kServiceName, provider_url,
      path("service-token"), path("secret"));
}

int run_demo(const cli::Arguments& arguments, const cli::Environment& environment,
             cli::Console& console) {
  std::string folder = arguments.data_folder;
  if (folder.empty())
    folder = environment("WAYBILL_DATA").value_or(cli::default_data_folder(environment));
  if (folder.empty()) {
    console.error("there is no home folder: give --data");
    return cli::kUsage;
  }
  block_signals();
  keep_files_private();
  tune_memory();
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(folder, ignored);
  Demo demo(absolute.lexically_normal().string(), arguments, console);
  const base::Status ended = demo.run();
  if (ended.ok()) return cli::kDone;
  console.error(base::printable(ended.error().message, 1'000));
  return ended.error().field == "data" ? static_cast<int>(cli::kLocalFile)
                                       : start_exit_code(ended.error());
}

}  // namespace waybill::app::demo
