#include "app/node.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "app/database.h"
#include "app/service_limits.h"
#include "app/version.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "dispatch/dispatch.h"
#include "exporting/export_executor.h"
#include "exporting/file_keeper.h"
#include "exporting/object_remover.h"
#include "exporting/progress_writer.h"
#include "exporting/waiter.h"
#include "files/directory/directory_files.h"
#include "http/server.h"

namespace waybill::app {
namespace {

constexpr base::Millis kRequestGraceMs = 5'000;    // of requests in flight at shutdown
constexpr base::Millis kRemoverPeriodMs = 30'000;  // between tries of failed deletions
constexpr base::Millis kProgressPeriodMs = exporting::kProgressIntervalMs;
constexpr int kManagementThreads = 1;

base::Result<http::Listener> bind_port(const ListenAddress& address) {
  auto port = http::Listener::bind(address.host, address.port);
  if (port.ok() || port.error().code != "PORT_IN_USE") return port;
  base::Error error = port.error();
  error.message = "port " + std::to_string(address.port) + " is in use: " + error.message;
  return error;
}

// What the reconciler finds half-written goes the way of everything that must not survive.
class RemoverForReconciler final : public dispatch::ObjectRemover {
 public:
  explicit RemoverForReconciler(exporting::ObjectRemover& remover) : remover_(remover) {}
  base::Result<bool> remove(std::string_view storage_id, std::string_view key) override {
    return remover_.remove(storage_id, key);
  }

 private:
  exporting::ObjectRemover& remover_;
};

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "host";
}

std::string roles_json(const Settings& settings) {
  base::JsonWriter json;
  json.begin_array();
  if (settings.serve_api) json.value("api");
  if (settings.roles.consumer) json.value("consumer");
  if (settings.roles.reconciler) json.value("reconciler");
  json.end_array();
  return json.take();
}

std::vector<std::string> type_names(const registry::Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [name, type] : snapshot.exports) names.push_back(name);
  return names;
}

}  // namespace

base::Result<NodePorts> bind_ports(const Config& config) {
  std::optional<http::Listener> api;
  if (config.boolean("roles.api")) {
    const auto address = parse_listen(config.text("server.listen"));
    WAYBILL_ASSIGN(api, bind_port(address.value_or(ListenAddress{})));
  }
  const auto address = parse_listen(config.text("management.listen"));
  WAYBILL_ASSIGN(http::Listener management, bind_port(address.value_or(ListenAddress{})));
  return NodePorts{std::move(api), std::move(management)};
}

struct Node::Impl {
  Impl(Settings s, NodeParts p, NodePorts bound)
      : settings(std::move(s)), parts(p), ports(std::move(bound)) {}

  // In this order. Up to open_database() everything only looks: a start that is refused leaves
  // nothing behind.
  base::Status check_settings();
  base::Status load_registry();
  base::Status open_files();
  base::Status open_database();
  base::Status follow_registry();
  [[nodiscard]] base::Status check_lanes(const registry::Snapshot& snapshot) const;
  void make_roles();
  base::Status listen();
  base::Result<std::unique_ptr<http::Server>> serve_on(http::Listener port, int threads,
                                                       std::vector<http::Route> routes);
  void stop_loops() {
    for (const auto& loop : loops) loop->stop();
  }

  Settings settings;
  NodeParts parts;
  NodePorts ports;  // until servers take them
  client::AllowList allow;
  // In order of construction; destroyed in reverse.
  std::unique_ptr<store::Store> store;
  std::unique_ptr<files::Files> files;
  std::string storage_id;
  std::unique_ptr<registry::Registry> registry;
  std::unique_ptr<client::HttpClient> http;
  exporting::ExportObserver observer;
  std::unique_ptr<exporting::ObjectRemover> remover;
  std::unique_ptr<RemoverForReconciler> reconciler_remover;
  std::unique_ptr<exporting::ProgressWriter> progress;
  std::unique_ptr<exporting::FileKeeper> keeper;
  std::unique_ptr<exporting::ClockWaiter> waiter;
  std::unique_ptr<exporting::ExportExecutor> executor;
  std::unique_ptr<dispatch::Dispatch> dispatch;
  base::Wake progress_wake, remover_wake, keeper_wake;
  dispatch::Metrics loop_metrics;
  std::vector<std::unique_ptr<dispatch::Loop>> loops;
  std::unique_ptr<api::Authenticator> authenticator;
  std::atomic<bool> ready{false};
  std::unique_ptr<http::Server> api_server, management_server;
  bool started = false, stopped = false;
};

base::Status Node::Impl::open_database() {
  const store::Seams seams{
      .database_clock = parts.database_clock, .random = parts.random, .retry = settings.retry};
  WAYBILL_ASSIGN(store, app::open_database(settings.database_path, seams));
  // Who the storage is was not asked before: the answer is a file in a storage that has none yet.
  WAYBILL_ASSIGN(storage_id, files->storage_id());
  return {};
}

base::Status Node::Impl::check_settings() {
  const std::string owner = dispatch::make_owner(host_name(), parts.random);
  settings.dispatch.owner = owner;
  settings.exporting.owner = owner;
  WAYBILL_TRY(dispatch::check_settings(settings.dispatch));
  for (const ServiceLimit& service : settings.services) WAYBILL_TRY(allow.allow(service.base_url));
  if (!settings.serve_api) return {};
  WAYBILL_ASSIGN(authenticator, api::make_jwt_authenticator(settings.jwt, parts.clock));
  return {};
}

base::Status Node::Impl::open_files() {
  auto opened = files::open_directory(settings.files_path, parts.random);
  if (!opened.ok()) return opened.error().with_context("files.directory.path");
  files = std::move(*opened);
  if (const auto writable = files->check_writable(); !writable.ok()) {
    return writable.error().with_context("files.directory.path " + settings.files_path);
  }
  return {};
}

// A type on a lane without workers would wait for ever.
base::Status Node::Impl::check_lanes(const registry::Snapshot& snapshot) const {
  for (const auto& [name, type] : snapshot.exports) {
    const bool known = std::any_of(settings.dispatch.lanes.begin(), settings.dispatch.lanes.end(),
                                   [&](const auto& lane) { return lane.name == type.lane; });
    if (!known) {
      return base::invalid("lane", settings.registry.file + ": definitions." + name +
                                       ".lane: the lane " + type.lane +
                                       " is not configured (lanes." + type.lane + ".workers)");
    }
  }
  return {};
}

base::Status Node::Impl::load_registry() {
  WAYBILL_ASSIGN(registry, registry::Registry::load(settings.registry));
  return check_lanes(*registry->current());
}

base::Status Node::Impl::follow_registry() {
  WAYBILL_TRY(store->ensure_type_guards(type_names(*registry->current())));
  WAYBILL_TRY(store->check_guards());
  registry->on_reload([this](const registry::Snapshot& snapshot) {
    if (const auto lanes = check_lanes(snapshot); !lanes.ok()) {
      base::log(base::LogLevel::kError, "lane_not_configured",
                {{"message", lanes.error().message}});
    }
    const auto guards = store->ensure_type_guards(type_names(snapshot));
    if (!guards.ok()) {
      base::log(base::LogLevel::kError, "type_guards_failed",
                {{"message", guards.error().message}});
    }
  });
  return {};
}

void Node::Impl::make_roles() {
  http = limit_services(client::make_http_client(std::move(allow)), settings.services, parts.clock);

  remover = std::make_unique<exporting::ObjectRemover>(*files, observer);
  reconciler_remover = std::make_unique<RemoverForReconciler>(*remover);
  progress =
      std::make_unique<exporting::ProgressWriter>(*store, parts.clock, settings.dispatch.owner);
  waiter = std::make_unique<exporting::ClockWaiter>(parts.clock);
  settings.keeper.longest_duration_ms = [this] {
    base::Millis longest = 0;
    for (const auto& [name, type] : registry->current()->exports)
      longest = std::max(longest, type.max_duration_ms);
    return longest;
  };
  keeper = std::make_unique<exporting::FileKeeper>(*store, *store, *files, parts.clock, *remover,
                                                   observer, settings.keeper);
  executor = std::make_unique<exporting::ExportExecutor>(
      exporting::ExportServices{.store = *store,
                                .registry = [this] { return registry->current(); },
                                .http = *http,
                                .files = *files,
                                .spawner = parts.spawner,
                                .clock = parts.clock,
                                .random = parts.random,
                                .waiter = *waiter,
                                .progress = *progress,
                                .remover = *remover,
                                .observer = observer},
      settings.exporting);

  store::InstanceRow instance;
  instance.started_at = parts.clock.wall_ms();
  instance.version = kVersion;
  instance.storage_id = storage_id;
  instance.roles_json = roles_json(settings);
  dispatch::Role sweep{.name = "files",
                       .step = [this]() -> base::Result<dispatch::Next> {
                         WAYBILL_TRY(keeper->step());
                         return dispatch::Next::after(settings.keeper.scan_period_ms);
                       },
                       .wake = &keeper_wake,
                       .begun = nullptr,
                       .ended = nullptr};
  dispatch =
      std::make_unique<dispatch::Dispatch>(settings.dispatch, settings.roles,
                                           dispatch::Parts{.store = *store,
                                                           .executors = {executor.get()},
                                                           .clock = parts.clock,
                                                           .spawner = parts.spawner,
                                                           .instance = instance,
                                                           .transport = nullptr,
                                                           .remover = reconciler_remover.get(),
                                                           .extra_roles = {sweep}});
  // Beside the roles: they outlive the executions that they serve.
  const auto loop = [this](const char* name, base::Wake& wake, dispatch::Step step) {
    loops.push_back(std::make_unique<dispatch::Loop>(dispatch::Role{.name = name,
                                                                    .step = std::move(step),
                                                                    .wake = &wake,
                                                                    .begun = nullptr,
                                                                    .ended = nullptr},
                                                     parts.spawner, loop_metrics));
  };
  loop("progress", progress_wake, [this]() -> base::Result<dispatch::Next> {
    WAYBILL_TRY(progress->step());
    return dispatch::Next::after(kProgressPeriodMs);
  });
  loop("remover", remover_wake, [this]() -> base::Result<dispatch::Next> {
    remover->step();
    return dispatch::Next::after(kRemoverPeriodMs);
  });
}

base::Result<std::unique_ptr<http::Server>> Node::Impl::serve_on(http::Listener port, int threads,
                                                                 std::vector<http::Route> routes) {
  http::ServerOptions options;
  options.handler_threads = threads;
  options.limits = settings.http_limits;
  options.error_response = api::server_error;
  return http::Server::start(std::move(port), std::move(options), std::move(routes), parts.spawner,
                             parts.clock, parts.random);
}

base::Status Node::Impl::listen() {
  std::vector<api::HealthCheck> checks;
  checks.push_back({"started", [this]() -> base::Status {
                      if (!ready.load()) return base::unavailable("starting or stopping");
                      return {};
                    }});
  checks.push_back({"database", [this]() -> base::Status {
                      // A write: a full disk or a lost file would still answer reads.
                      return store->renew_instance(settings.dispatch.owner);
                    }});
  checks.push_back({"storage", [this] { return files->check_writable(); }});
  WAYBILL_ASSIGN(management_server, serve_on(std::move(ports.management), kManagementThreads,
                                             api::make_management_routes(std::move(checks))));
  if (!ports.api) return {};
  const api::ApiDeps deps{.tasks = *store,
                          .admin = *store,
                          .registry = *registry,
                          .files = *files,
                          .authenticator = *authenticator,
                          .clock = parts.clock,
                          .random = parts.random};
  WAYBILL_ASSIGN(api_server, serve_on(std::move(*ports.api), settings.handler_threads,
                                      api::make_routes(deps, settings.api)));
  return {};
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Node::~Node() {
  const std::atomic<bool> hurry{true};
  shutdown(&hurry);
}

base::Result<std::unique_ptr<Node>> Node::build(Settings settings, NodeParts parts,
                                                NodePorts ports) {
  std::unique_ptr<Node> node(
      new Node(std::make_unique<Impl>(std::move(settings), parts, std::move(ports))));
  Impl& impl = *node->impl_;
  WAYBILL_TRY(impl.check_settings());
  WAYBILL_TRY(impl.load_registry());
  WAYBILL_TRY(impl.open_files());
  WAYBILL_TRY(impl.open_database());
  WAYBILL_TRY(impl.follow_registry());
  impl.make_roles();
  WAYBILL_TRY(impl.listen());
  return node;
}

base::Status Node::start() {
  // The file has one serving process, and it is this one: whatever is RUNNING belongs to nobody.
  if (dispatch::Reconciler* reconciler = impl_->dispatch->reconciler()) {
    WAYBILL_TRY(reconciler->recover_all_running());
  }
  for (const auto& loop : impl_->loops) WAYBILL_TRY(loop->start());
  impl_->started = true;
  WAYBILL_TRY(impl_->dispatch->start());
  impl_->ready = true;
  base::log(base::LogLevel::kInfo, "started",
            {{"version", kVersion},
             {"owner", impl_->settings.dispatch.owner},
             {"port", int{port()}},
             {"managementPort", int{management_port()}},
             {"storageId", impl_->storage_id}});
  return {};
}

std::uint16_t Node::port() const {
  return impl_->api_server ? impl_->api_server->port() : std::uint16_t{0};
}
std::uint16_t Node::management_port() const { return impl_->management_server->port(); }

void Node::reload_registry(bool changed_only) {
  std::optional<registry::ReloadResult> result;
  if (changed_only) {
    result = impl_->registry->reload_if_changed();
  } else {
    result = impl_->registry->reload();
  }
  if (!result) return;
  if (result->ok) {
    base::log(base::LogLevel::kInfo, "registry_reloaded", {{"generation", result->generation}});
  } else {
    base::log(base::LogLevel::kError, "registry_reload_failed", {{"message", result->error}});
  }
}

void Node::shutdown(const std::atomic<bool>* hurry) {
  if (impl_->stopped) return;
  impl_->stopped = true;
  impl_->ready = false;
  if (impl_->api_server) impl_->api_server->stop(kRequestGraceMs, hurry);
  if (impl_->dispatch && impl_->started) impl_->dispatch->shutdown(hurry);
  impl_->stop_loops();
  if (impl_->management_server) impl_->management_server->stop(0);
  if (impl_->started) {
    base::log(
        base::LogLevel::kInfo, "stopped",
        {{"owner", impl_->settings.dispatch.owner}, {"statements", impl_->store->statements()}});
  }
}

}  // namespace waybill::app
