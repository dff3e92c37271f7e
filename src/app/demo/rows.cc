#include "app/demo/rows.h"

#include <array>
#include <charconv>
#include <chrono>

#include "base/sha256.h"

namespace waybill::app::demo {
namespace {

// SplitMix64: one multiplication chain per number.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t roll() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return roll() % n; }
  template <class T, std::size_t N>
  const T& pick(const std::array<T, N>& from) {
    return from[below(N)];
  }

 private:
  std::uint64_t state_;
};

struct City {
  std::string_view zh, en, province;
};
constexpr std::array<City, 16> kCities{{{"上海", "Shanghai", "上海"},
                                        {"北京", "Beijing", "北京"},
                                        {"深圳", "Shenzhen", "广东"},
                                        {"广州", "Guangzhou", "广东"},
                                        {"杭州", "Hangzhou", "浙江"},
                                        {"宁波", "Ningbo", "浙江"},
                                        {"成都", "Chengdu", "四川"},
                                        {"武汉", "Wuhan", "湖北"},
                                        {"西安", "Xi'an", "陕西"},
                                        {"南京", "Nanjing", "江苏"},
                                        {"苏州", "Suzhou", "江苏"},
                                        {"重庆", "Chongqing", "重庆"},
                                        {"青岛", "Qingdao", "山东"},
                                        {"厦门", "Xiamen", "福建"},
                                        {"长沙", "Changsha", "湖南"},
                                        {"昆明", "Kunming", "云南"}}};

struct Word {
  std::string_view zh, en;
};
constexpr std::array<Word, 20> kFirst{
    {{"远航", "Voyage"},    {"晨曦", "Dawn"},     {"青松", "Pinewood"},   {"云帆", "Cloudsail"},
     {"恒泰", "Everstone"}, {"银河", "Galaxy"},   {"海蓝", "Seablue"},    {"金穗", "Goldear"},
     {"北辰", "Northstar"}, {"星火", "Spark"},    {"瑞丰", "Plenty"},     {"和畅", "Fairwind"},
     {"长青", "Evergreen"}, {"明德", "Clarity"},  {"四方", "Fourways"},   {"木棉", "Kapok"},
     {"溪谷", "Brookvale"}, {"拓新", "Newfield"}, {"蓝桥", "Bluebridge"}, {"鼎新", "Tripod"}}};
constexpr std::array<Word, 14> kTrade{{{"物流", "Logistics"},
                                       {"食品", "Foods"},
                                       {"电子", "Electronics"},
                                       {"纺织", "Textiles"},
                                       {"机械", "Machinery"},
                                       {"文化", "Media"},
                                       {"家居", "Living"},
                                       {"医疗器械", "Medical Devices"},
                                       {"农业", "Agriculture"},
                                       {"软件", "Software"},
                                       {"包装", "Packaging"},
                                       {"建材", "Materials"},
                                       {"贸易", "Trading"},
                                       {"汽配", "Auto Parts"}}};
constexpr std::array<Word, 4> kForm{
    {{"有限公司", "Ltd."}, {"集团", "Group"}, {"商行", "& Sons"}, {"工作室", "Studio"}}};
constexpr std::array<std::string_view, 4> kLevels{"普通", "银牌", "金牌", "钻石"};

struct Product {
  std::string_view zh, en, sku, category;
  int price_cents;
};
constexpr std::array<Product, 16> kProducts{
    {{"折叠纸箱（大）", "Carton, large", "BX-L", "包装", 890},
     {"气泡膜 50m", "Bubble wrap 50 m", "BW-50", "包装", 3'950},
     {"热敏标签纸", "Thermal labels", "TL-100", "耗材", 1'290},
     {"手持扫描枪", "Hand scanner", "HS-2", "设备", 45'900},
     {"蓝牙打印机", "Bluetooth printer", "BP-58", "设备", 32'800},
     {"保温箱 20L", "Cooler box 20 l", "CB-20", "冷链", 12'600},
     {"冰袋（十只）", "Ice packs (10)", "IP-10", "冷链", 1'880},
     {"周转筐", "Crate", "CR-60", "仓储", 2'350},
     {"货架标签夹", "Shelf clips", "SC-20", "仓储", 690},
     {"电子秤 30kg", "Scale 30 kg", "SC-30", "设备", 15'900},
     {"封箱胶带", "Packing tape", "PT-6", "耗材", 980},
     {"防滑手套", "Grip gloves", "GG-M", "劳保", 560},
     {"反光背心", "High-vis vest", "HV-L", "劳保", 1'450},
     {"托盘 1.2×1.0", "Pallet 1.2x1.0", "PL-12", "仓储", 8'600},
     {"缠绕膜", "Stretch film", "SF-50", "包装", 2'990},
     {"快递袋（百只）", "Mailers (100)", "ML-100", "包装", 2'190}}};
constexpr std::array<std::string_view, 5> kStatuses{"PENDING", "PAID", "SHIPPED", "DELIVERED",
                                                    "RETURNED"};
constexpr std::array<std::string_view, 5> kStatusWords{"待付款", "已付款", "已发货", "已签收",
                                                       "已退货"};
constexpr std::array<std::string_view, 4> kChannels{"官网", "小程序", "App", "Partner API"};
constexpr std::array<std::string_view, 6> kRoads{"人民路",       "中山路", "解放大道",
                                                 "Harbour Road", "滨江路", "科技园路"};
// Sheets have to cope with all of this: formulas, quotes, tags, line breaks, emoji.
constexpr std::array<std::string_view, 8> kRemarks{
    "=1+1 不是公式",    "请送到前台 \\\"reception\\\"",
    "<易碎> & fragile", "两行\\n备注",
    "@warehouse 3",     "周末配送 🚚",
    "+86 电话联系",     "- 无 -"};

constexpr std::uint64_t kCustomerSalt = 0xC0FFEE;
constexpr std::uint64_t kOrderSalt = 0x0BDE5;

Dice dice_for(std::uint64_t seed, std::uint64_t salt, std::int64_t id) {
  return Dice(Dice(seed ^ salt).roll() + static_cast<std::uint64_t>(id) * 0xD1342543DE82EF95ULL);
}

void append_number(std::string& out, std::int64_t number, int width = 0) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  for (int pad = width - static_cast<int>(end - digits); pad > 0; --pad) out += '0';
  out.append(digits, end);
}

// "123.45"
void append_cents(std::string& out, std::int64_t cents) {
  append_number(out, cents / 100);
  out += '.';
  append_number(out, cents % 100, 2);
}

void append_date(std::string& out, std::int64_t days_since_2019) {
  const std::chrono::year_month_day day{std::chrono::sys_days(std::chrono::year{2019} / 1 / 1) +
                                        std::chrono::days(days_since_2019)};
  append_number(out, int{day.year()});
  out += '-';
  append_number(out, unsigned{day.month()}, 2);
  out += '-';
  append_number(out, unsigned{day.day()}, 2);
}

void append_moment(std::string& out, std::int64_t day, std::int64_t second) {
  append_date(out, day);
  out += 'T';
  append_number(out, second / 3600, 2);
  out += ':';
  append_number(out, second / 60 % 60, 2);
  out += ':';
  append_number(out, second % 60, 2);
  out += "+08:00";
}

// One row object: fields in order, texts that need no escaping (ours are constants that are escaped
// already).
class Row {
 public:
  explicit Row(std::string& out) : out_(out) { out_ += '{'; }
  ~Row() { out_ += '}'; }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  std::string& raw(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += key;
    out_ += "\":";
    return out_;
  }
  template <class... Parts>
  void text(std::string_view key, const Parts&... parts) {
    raw(key) += '"';
    ((out_ += parts), ...);
    out_ += '"';
  }
  template <class Append>
  void quoted(std::string_view key, const Append& append) {
    raw(key) += '"';
    append(out_);
    out_ += '"';
  }
  void number(std::string_view key, std::int64_t value) { append_number(raw(key), value); }
  void truth(std::string_view key, bool value) { raw(key) += value ? "true" : "false"; }

 private:
  std::string& out_;
  bool first_ = true;
};

struct Company {
  Word first, trade, form;
  City city;
};
Company company_of(std::uint64_t seed, std::int64_t customer) {
  Dice dice = dice_for(seed, kCustomerSalt, customer);
  Company company;
  company.first = dice.pick(kFirst);
  company.trade = dice.pick(kTrade);
  company.form = dice.pick(kForm);
  company.city = dice.pick(kCities);
  return company;
}

void append_customer(std::string& out, std::uint64_t seed, std::int64_t id) {
  const Company c = company_of(seed, id);
  Dice dice = dice_for(seed, kCustomerSalt + 1, id);
  const auto registered = static_cast<std::int64_t>(dice.below(2'400));
  Row row(out);
  row.number("id", id);
  row.quoted("code", [&](std::string& o) {
    o += 'C';
    append_number(o, id, 8);
  });
  row.text("name", c.city.zh, c.first.zh, c.trade.zh, c.form.zh);
  row.text("nameEn", c.first.en, " ", c.trade.en, " ", c.form.en);
  row.text("province", c.city.province);
  row.text("city", c.city.en);
  row.text("level", kLevels[dice.below(10) < 6 ? 0 : 1 + dice.below(3)]);
  row.truth("active", dice.below(8) != 0);
  const auto orders = static_cast<std::int64_t>(dice.below(400));
  row.number("orders", orders);
  row.quoted("balance", [&](std::string& o) {
    append_cents(o, static_cast<std::int64_t>(dice.below(9'000'000)));
  });
  row.quoted("registeredOn", [&](std::string& o) { append_date(o, registered); });
  if (orders > 0) {
    row.quoted("lastOrderAt", [&](std::string& o) {
      append_moment(o, registered + static_cast<std::int64_t>(dice.below(400)),
                    static_cast<std::int64_t>(dice.below(86'400)));
    });
  }
}

void append_order(std::string& out, std::uint64_t seed, std::int64_t id) {
  Dice dice = dice_for(seed, kOrderSalt, id);
  const std::size_t status = dice.below(kStatuses.size());
  const auto customer = 1 + static_cast<std::int64_t>(dice.below(kCustomers));
  const Company c = company_of(seed, customer);
  const Product& product = dice.pick(kProducts);
  const auto quantity = 1 + static_cast<std::int64_t>(dice.below(40));
  const auto discount = static_cast<std::int64_t>(dice.below(5)) * 5;
  const std::int64_t amount = quantity * product.price_cents * (100 - discount) / 100;
  const auto day = 2'000 + id * 700 / kMaxOrders;
  const auto second = static_cast<std::int64_t>(dice.below(86'400));
  Row row(out);
  row.quoted("id", [&](std::string& o) { append_number(o, 7'300'000'000'000'000'000 + id); });
  row.quoted("orderNo", [&](std::string& o) {
    o += "SO-";
    append_number(o, id, 9);
  });
  row.number("customerId", customer);
  row.text("customer", c.city.zh, c.first.zh, c.trade.zh, c.form.zh);
  row.text("sku", product.sku);
  row.text("product", product.zh);
  row.text("productEn", product.en);
  row.text("category", product.category);
  row.number("quantity", quantity);
  row.quoted("unitPrice", [&](std::string& o) { append_cents(o, product.price_cents); });
  row.number("discount", discount);
  row.quoted("amount", [&](std::string& o) { append_cents(o, amount); });
  row.text("currency", "CNY");
  row.text("status", kStatusWords[status]);
  row.truth("paid", status != 0);
  row.text("channel", dice.pick(kChannels));
  row.text("city", c.city.zh);
  row.quoted("address", [&](std::string& o) {
    o += dice.pick(kRoads);
    o += ' ';
    append_number(o, 1 + static_cast<std::int64_t>(dice.below(999)));
    o += " 号";
  });
  row.quoted("orderedAt", [&](std::string& o) { append_moment(o, day, second); });
  if (dice.below(6) == 0) row.text("remark", dice.pick(kRemarks));
}

void append_report(std::string& out, std::uint64_t seed, std::int64_t id) {
  Dice dice = dice_for(seed, kOrderSalt + 2, id);
  const City& city = dice.pick(kCities);
  Row row(out);
  row.number("line", id);
  row.text("city", city.zh, " ", city.en);
  row.quoted("day", [&](std::string& o) { append_date(o, 2'000 + id % 700); });
  row.number("parcels", static_cast<std::int64_t>(dice.below(5'000)));
  row.quoted("share", [&](std::string& o) {
    append_cents(o, static_cast<std::int64_t>(dice.below(10'000)));
  });
}

constexpr std::string_view kCustomerColumnsJson =
    R"([{"key":"id","title":"编号 ID","type":"INTEGER","width":10},)"
    R"({"key":"code","title":"客户号 Code","type":"STRING","width":14},)"
    R"({"key":"name","title":"客户名称","type":"STRING","width":28},)"
    R"({"key":"nameEn","title":"Customer","type":"STRING","width":28},)"
    R"({"key":"province","title":"省份","type":"STRING","width":8},)"
    R"({"key":"city","title":"City","type":"STRING","width":12},)"
    R"({"key":"level","title":"等级 Level","type":"STRING","width":10},)"
    R"({"key":"active","title":"启用 Active","type":"BOOLEAN","width":10},)"
    R"({"key":"orders","title":"订单数 Orders","type":"INTEGER","width":12},)"
    R"({"key":"balance","title":"余额 Balance","type":"DECIMAL","width":14},)"
    R"({"key":"registeredOn","title":"注册日期 Registered","type":"DATE","width":14},)"
    R"({"key":"lastOrderAt","title":"最近下单 Last order","type":"DATETIME","width":20}])";

constexpr std::string_view kOrderColumnsJson =
    R"([{"key":"id","title":"编号 ID","type":"INTEGER","width":22},)"
    R"({"key":"orderNo","title":"订单号 Order","type":"STRING","width":16},)"
    R"({"key":"customerId","title":"客户编号","type":"INTEGER","width":10},)"
    R"({"key":"customer","title":"客户名称 Customer","type":"STRING","width":28},)"
    R"({"key":"sku","title":"SKU","type":"STRING","width":10},)"
    R"({"key":"product","title":"商品","type":"STRING","width":18},)"
    R"({"key":"productEn","title":"Product","type":"STRING","width":18},)"
    R"({"key":"category","title":"类目","type":"STRING","width":8},)"
    R"({"key":"quantity","title":"数量 Quantity","type":"INTEGER","width":10},)"
    R"({"key":"unitPrice","title":"单价 Unit price","type":"DECIMAL","width":12},)"
    R"({"key":"discount","title":"折扣 % Discount","type":"INTEGER","width":10},)"
    R"({"key":"amount","title":"金额 Amount","type":"DECIMAL","width":14},)"
    R"({"key":"currency","title":"币种","type":"STRING","width":8},)"
    R"({"key":"status","title":"状态 Status","type":"STRING","width":10},)"
    R"({"key":"paid","title":"已付 Paid","type":"BOOLEAN","width":8},)"
    R"({"key":"channel","title":"渠道 Channel","type":"STRING","width":12},)"
    R"({"key":"city","title":"城市","type":"STRING","width":8},)"
    R"({"key":"address","title":"地址 Address","type":"STRING","width":22},)"
    R"({"key":"orderedAt","title":"下单时间 Ordered","type":"DATETIME","width":20},)"
    R"({"key":"remark","title":"备注 Remark","type":"STRING","width":24}])";

constexpr std::string_view kReportColumnsJson =
    R"([{"key":"line","title":"行 Line","type":"INTEGER","width":8},)"
    R"({"key":"city","title":"城市 City","type":"STRING","width":18},)"
    R"({"key":"day","title":"日期 Day","type":"DATE","width":12},)"
    R"({"key":"parcels","title":"包裹数 Parcels","type":"INTEGER","width":12},)"
    R"({"key":"share","title":"占比 % Share","type":"DECIMAL","width":12}])";

}  // namespace

std::string_view columns_json(Table table) {
  switch (table) {
    case Table::kCustomers:
      return kCustomerColumnsJson;
    case Table::kOrders:
      return kOrderColumnsJson;
    case Table::kReport:
      return kReportColumnsJson;
  }
  return kReportColumnsJson;
}

std::uint64_t tenant_seed(std::string_view tenant, std::string_view app_code) {
  const base::Sha256Digest digest =
      base::sha256(std::string(tenant) + '\n' + std::string(app_code));
  std::uint64_t seed = 0;
  for (int i = 0; i < 8; ++i) seed = seed << 8 | digest[static_cast<std::size_t>(i)];
  return seed;
}

void append_row(std::string& out, Table table, std::uint64_t seed, std::int64_t id) {
  switch (table) {
    case Table::kCustomers:
      return append_customer(out, seed, id);
    case Table::kOrders:
      return append_order(out, seed, id);
    case Table::kReport:
      return append_report(out, seed, id);
  }
}

std::string_view order_status(std::uint64_t seed, std::int64_t id) {
  return kStatuses[dice_for(seed, kOrderSalt, id).below(kStatuses.size())];
}

}  // namespace waybill::app::demo
