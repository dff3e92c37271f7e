// One process of Waybill: everything that `serve`, `demo` and the benchmark run, built in order and
// closed in reverse.

#ifndef WAYBILL_APP_NODE_H_
#define WAYBILL_APP_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/config.h"
#include "app/settings.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/spawner.h"
#include "http/server.h"

namespace waybill::app {

// Everything outlives the Node.
struct NodeParts {
  const base::Clock& clock;
  base::Clock& database_clock;
  base::Random& random;
  base::Spawner& spawner;
};

// The ports of a Node, bound and not served yet. `api` is empty where its role is switched off.
struct NodePorts {
  std::optional<http::Listener> api;
  http::Listener management;
};

// Binds what the configuration names. kConflict (code PORT_IN_USE) naming the port.
base::Result<NodePorts> bind_ports(const Config& config);

// One thread calls it, but for the readers of ports.
class Node {
 public:
  // Checks settings, registry and storage, then opens the database (and its lock), brings its
  // schema up to date, checks what must be there, and serves the ports: after this nothing can
  // stand in the way but a lack of threads. Executes nothing yet. Whatever is refused before the
  // database is opened has written nothing. Errors are sentences that name file, port or row.
  static base::Result<std::unique_ptr<Node>> build(Settings settings, NodeParts parts,
                                                   NodePorts ports);
  // shutdown() without grace, if it was not called.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Hands back what an earlier process left RUNNING, then starts the roles.
  base::Status start();

  // 0 where the API is switched off.
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::uint16_t management_port() const;

  // Reads the registry again; `changed_only`: if its file changed. The result is logged.
  void reload_registry(bool changed_only);

  // Stops accepting, stops claiming, gives running tasks the grace, hands the rest back, closes.
  // `hurry` set cuts the grace short.
  void shutdown(const std::atomic<bool>* hurry);

 private:
  struct Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace waybill::app

#endif  // WAYBILL_APP_NODE_H_
