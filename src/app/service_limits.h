// Keeps provider services from being asked more than their owners allow: requests at the same time
// and per second, over all exports of this process.

#ifndef WAYBILL_APP_SERVICE_LIMITS_H_
#define WAYBILL_APP_SERVICE_LIMITS_H_

#include <memory>
#include <vector>

#include "app/settings.h"
#include "client/http_client.h"

namespace waybill::app {

// A client that waits for its turn before it sends; waiting asks request.stop as sending does, and
// counts for no time-out. Requests to other places than `services` pass. Without any limit `inner`
// itself comes back.
std::unique_ptr<client::HttpClient> limit_services(std::unique_ptr<client::HttpClient> inner,
                                                   const std::vector<ServiceLimit>& services,
                                                   const base::Clock& clock);

}  // namespace waybill::app

#endif  // WAYBILL_APP_SERVICE_LIMITS_H_
