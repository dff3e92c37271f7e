// Pages one after the other, whoever fetches them and whenever.

#ifndef WAYBILL_EXPORTING_PAGE_SOURCE_H_
#define WAYBILL_EXPORTING_PAGE_SOURCE_H_

#include <variant>

#include "exporting/failure.h"
#include "exporting/provider_page.h"

namespace waybill::exporting {

struct EndOfPages {};
using NextPage = std::variant<ProviderPage, EndOfPages, Failure>;

// Not thread-safe.
class PageSource {
 public:
  virtual ~PageSource() = default;
  // The next page. After the end or a failure: no further call.
  virtual NextPage next() = 0;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_PAGE_SOURCE_H_
