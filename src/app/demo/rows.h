// The demo's data: customers, orders and a small report, made row by row from a seed. The same
// tenant and id give the same row for ever, on every machine, so nothing is stored. All names are
// invented.

#ifndef WAYBILL_APP_DEMO_ROWS_H_
#define WAYBILL_APP_DEMO_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace waybill::app::demo {

enum class Table : std::uint8_t { kCustomers, kOrders, kReport };

inline constexpr std::int64_t kCustomers = 200'000;  // rows of every tenant
inline constexpr std::int64_t kMaxOrders = 500'000;  // rows of an ORDER_LIST at most
inline constexpr int kCustomerColumns = 12;
inline constexpr int kOrderColumns = 20;

// [{"key":...,"title":...,"type":...,"width":...}, ...]
std::string_view columns_json(Table table);

// The tenant's data differ from every other tenant's.
std::uint64_t tenant_seed(std::string_view tenant, std::string_view app_code);

// Appends row `id` (from 1) as one JSON object.
void append_row(std::string& out, Table table, std::uint64_t seed, std::int64_t id);

// The status an order has, without making the row: PENDING PAID SHIPPED DELIVERED RETURNED.
std::string_view order_status(std::uint64_t seed, std::int64_t id);

}  // namespace waybill::app::demo

#endif  // WAYBILL_APP_DEMO_ROWS_H_
