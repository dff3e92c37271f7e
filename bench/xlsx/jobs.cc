#include "jobs.h"

#include <array>
#include <charconv>
#include <ctime>

namespace waybill::bench {
namespace {

using xlsx::ColumnType;

constexpr std::int64_t kOrderColumns = 20;
constexpr std::int64_t kOrdersPerWideRow = 5;
constexpr std::int64_t kPoolRows = 8;  // often enough for a column to keep asking the table
constexpr std::int64_t kStart = 1'704'067'200;  // 2024-01-01T00:00:00

constexpr std::array<std::string_view, 8> kAddresses = {
    "上海市浦东新区张江路", "北京市朝阳区建国门外大街", "深圳市南山区科技园南路",
    "广州市天河区体育西路", "杭州市滨江区网商路",       "成都市武侯区天府大道",
    "武汉市洪山区珞喻路",   "南京市建邺区江东中路"};
constexpr std::array<std::string_view, 8> kProducts = {
    "无线蓝牙降噪耳机",   "智能恒温电热水壶", "便携式折叠自行车",   "全自动滚筒洗衣机",
    "高清网络监控摄像头", "人体工学办公椅子", "家用空气净化器滤芯", "不锈钢真空保温杯"};
constexpr std::array<std::string_view, 8> kRemarks = {
    "客户要求尽快发货", "工作日送货请提前联系", "已开具增值税专用发票", "放在门卫室签收即可",
    "赠品随货一起寄出", "超出配送范围需加运费", "退换货请保留原包装",   "无特殊备注信息内容"};
constexpr std::array<std::string_view, 16> kCities = {
    "Shanghai Pudong",        "Beijing Chaoyang", "Shenzhen Nanshan", "Guangzhou Tianhe",
    "Hangzhou Binjiang",      "Chengdu Wuhou",    "Wuhan Hongshan",   "Nanjing Jianye",
    "Suzhou Industrial Park", "Xian Yanta",       "Chongqing Yubei",  "Tianjin Binhai",
    "Qingdao Laoshan",        "Xiamen Siming",    "Changsha Yuelu",   "Zhengzhou Jinshui"};
constexpr std::array<std::string_view, 6> kStatuses = {"PENDING",   "PAID",      "SHIPPED",
                                                       "DELIVERED", "CANCELLED", "REFUNDED"};

struct Field {
  std::string_view key;
  ColumnType type;
};
constexpr std::array<Field, kOrderColumns> kFields = {{
    {"id", ColumnType::kInteger},         {"customerId", ColumnType::kInteger},
    {"orderNo", ColumnType::kInteger},    {"quantity", ColumnType::kInteger},
    {"price", ColumnType::kDecimal},      {"amount", ColumnType::kDecimal},
    {"discount", ColumnType::kDecimal},   {"tax", ColumnType::kDecimal},
    {"orderCode", ColumnType::kString},   {"address", ColumnType::kString},
    {"productName", ColumnType::kString}, {"remark", ColumnType::kString},
    {"sku", ColumnType::kString},         {"email", ColumnType::kString},
    {"city", ColumnType::kString},        {"note", ColumnType::kString},
    {"createdAt", ColumnType::kDateTime}, {"updatedAt", ColumnType::kDateTime},
    {"vip", ColumnType::kBoolean},        {"status", ColumnType::kString},
}};

std::string_view pick(auto& table, std::int64_t i) {
  return table[static_cast<std::size_t>(i) % table.size()];
}

void append(std::string& out, std::string_view text) { out += text; }
void append(std::string& out, std::int64_t number) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}

template <class... T>
void set(std::string& out, const T&... parts) {
  out.clear();
  (append(out, parts), ...);
}

// The last `digits` digits of a number in `base`, with zeros in front.
std::string_view padded(std::int64_t number, int digits, int base, char (&text)[24]) {
  for (int i = digits - 1; i >= 0; --i, number /= base) {
    text[i] = "0123456789abcdef"[number % base];
  }
  return {text, static_cast<std::size_t>(digits)};
}

std::int64_t created(std::int64_t i) { return kStart + i * 137 % 63'072'000; }
std::int64_t updated(std::int64_t i) { return created(i) + i * 97 % 2'592'000; }

// The twenty cells of order `i`; `texts` holds what is not constant.
void make_order(std::int64_t i, xlsx::CellValue* cells, std::string* texts) {
  char digits[24];
  *cells++ = i + 1;
  *cells++ = 100'000 + i * 7'919 % 900'000;
  *cells++ = 10'000'000'000 + i * 13;
  *cells++ = i * 31 % 1'000;
  *cells++ = static_cast<double>(i * 7'907 % 1'000'000) / 100.0;
  *cells++ = static_cast<double>(i * 104'729 % 100'000'000) / 100.0;
  *cells++ = static_cast<double>(i * 17 % 10'000) / 100.0;
  *cells++ = static_cast<double>(i * 1'299'709 % 10'000'000) / 100.0;
  set(texts[0], std::string_view("ORD-"), padded(i, 8, 10, digits));
  set(texts[1], pick(kAddresses, i), i * 37 % 1'000, std::string_view("号"));
  set(texts[2], pick(kProducts, i * 7), std::string_view("-"), i % 97, std::string_view("型"));
  set(texts[3], std::string_view("SKU-"), 1'000'000 + i * 48'271 % 1'000'003, std::string_view("-"),
      i % 7);
  set(texts[4], std::string_view("user"), 100'000 + i * 7'919 % 900'000,
      std::string_view("@example.com"));
  if (i % 12 == 0) {
    set(texts[5], std::string_view("A&B <b>\""), i % 1'000, std::string_view("\"</b>"));
  } else {
    set(texts[5], std::string_view("note-"),
        padded(i * 2'654'435'761 % 4'294'967'296, 8, 16, digits));
  }
  *cells++ = std::string_view(texts[0]);
  *cells++ = std::string_view(texts[1]);
  *cells++ = std::string_view(texts[2]);
  *cells++ = pick(kRemarks, i * 5);
  *cells++ = std::string_view(texts[3]);
  *cells++ = std::string_view(texts[4]);
  *cells++ = pick(kCities, i * 11);
  *cells++ = std::string_view(texts[5]);
  *cells++ = xlsx::LocalTime{created(i)};
  *cells++ = xlsx::LocalTime{updated(i)};
  *cells++ = i % 3 == 0;
  *cells++ = pick(kStatuses, i);
}

void append_time(std::string& out, std::int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "\"%Y-%m-%d %H:%M:%S\"", &parts);
  out.append(text, size);
}

// The shortest form, with a fraction: 100.0, as the JSON libraries of most languages write it.
void append_double(std::string& out, double value) {
  char text[32];
  const std::size_t size =
      static_cast<std::size_t>(std::to_chars(text, text + sizeof text, value).ptr - text);
  out.append(text, size);
  if (std::string_view(text, size).find('.') == std::string_view::npos) out += ".0";
}

void append_cell(std::string& out, const xlsx::CellValue& cell) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    out += '"';
    for (const char c : *text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    append(out, *integer);
  } else if (const auto* number = std::get_if<double>(&cell)) {
    append_double(out, *number);
  } else if (const auto* truth = std::get_if<bool>(&cell)) {
    out += *truth ? "true" : "false";
  } else if (const auto* time = std::get_if<xlsx::LocalTime>(&cell)) {
    append_time(out, time->unix_seconds);
  } else {
    out += "null";
  }
}

}  // namespace

std::optional<Shape> shape_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"orders",   "wide",   "narrow",
                                                      "repeated", "unique", "pool"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Shape>(i);
  }
  return std::nullopt;
}

std::int64_t default_rows(Shape shape) {
  if (shape == Shape::kNarrow) return 1'000'000;
  return shape == Shape::kWide ? 40'000 : 200'000;
}

std::vector<xlsx::Column> columns_of(Shape shape) {
  std::vector<xlsx::Column> columns;
  if (shape == Shape::kOrders || shape == Shape::kWide) {
    for (std::int64_t set = 0; set < (shape == Shape::kWide ? kOrdersPerWideRow : 1); ++set) {
      for (const Field& field : kFields) {
        std::string key(field.key);
        if (set > 0) key += std::to_string(set + 1);
        columns.push_back({key, key, field.type, 0});
      }
    }
  } else {
    for (std::int64_t c = 0; c < (shape == Shape::kNarrow ? 1 : kOrderColumns); ++c) {
      const std::string key = "text" + std::to_string(c + 1);
      columns.push_back({key, key, ColumnType::kString, 0});
    }
  }
  return columns;
}

Rows::Rows(Shape shape)
    : shape_(shape),
      columns_(columns_of(shape)),
      cells_(columns_.size()),
      texts_(columns_.size()) {}

std::span<const xlsx::CellValue> Rows::cells(std::int64_t i) {
  char digits[24];
  switch (shape_) {
    case Shape::kOrders:
      make_order(i, cells_.data(), texts_.data());
      break;
    case Shape::kWide:
      for (std::int64_t set = 0; set < kOrdersPerWideRow; ++set) {
        const auto at = static_cast<std::size_t>(set * kOrderColumns);
        make_order(i * kOrdersPerWideRow + set, &cells_[at], &texts_[at]);
      }
      break;
    case Shape::kNarrow:
    case Shape::kUnique:
      for (std::size_t c = 0; c < cells_.size(); ++c) {
        const std::int64_t number = i * 2'654'435'761 + static_cast<std::int64_t>(c) * 40'503;
        set(texts_[c], std::string_view("text-"), padded(number, 12, 16, digits));
        cells_[c] = std::string_view(texts_[c]);
      }
      break;
    case Shape::kRepeated:
      for (std::size_t c = 0; c < cells_.size(); ++c) {
        cells_[c] = pick(kCities, i * 11 + static_cast<std::int64_t>(c));
      }
      break;
    case Shape::kPool:
      for (std::size_t c = 0; c < cells_.size(); ++c) {
        const std::int64_t number = i / kPoolRows * kOrderColumns + static_cast<std::int64_t>(c);
        // 32 bytes: what the table expects, so that its texts and its entries run out together.
        set(texts_[c], std::string_view("text of the pool "), padded(number, 15, 16, digits));
        cells_[c] = std::string_view(texts_[c]);
      }
      break;
  }
  return cells_;
}

void Rows::append_json(std::string& out, std::int64_t i) {
  const std::span<const xlsx::CellValue> row = cells(i);
  for (std::size_t c = 0; c < row.size(); ++c) {
    out += c == 0 ? "{\"" : ",\"";
    out += columns_[c].key;
    out += "\":";
    append_cell(out, row[c]);
  }
  out += '}';
}

}  // namespace waybill::bench
