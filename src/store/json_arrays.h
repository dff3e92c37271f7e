// The JSON texts that carry arrays into statements.

#ifndef WAYBILL_STORE_JSON_ARRAYS_H_
#define WAYBILL_STORE_JSON_ARRAYS_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/json_writer.h"

namespace waybill::store {

inline void append_int(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

// [1,2,3] or ["a","b"], for @list.
class JsonList {
 public:
  void add(std::int64_t number) {
    separate();
    append_int(out_, number);
  }
  void add(std::string_view text) {
    separate();
    base::append_json_string(out_, text);
  }
  [[nodiscard]] std::string text() const { return out_ + ']'; }
  [[nodiscard]] bool empty() const { return out_.size() == 1; }

 private:
  void separate() {
    if (out_.size() > 1) out_ += ',';
  }
  std::string out_ = "[";
};

// [[1,"a",null],...], for @rows: one add(...) per row with as many values as the statement
// declares.
class JsonRows {
 public:
  template <class... Values>
  void add(const Values&... values) {
    out_ += out_.size() > 1 ? ",[" : "[";
    bool first = true;
    ((first ? void() : void(out_ += ','), first = false, value(values)), ...);
    out_ += ']';
  }
  [[nodiscard]] std::string text() const { return out_ + ']'; }
  [[nodiscard]] bool empty() const { return out_.size() == 1; }

 private:
  template <class T>
  void value(const T& v) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      base::append_json_string(out_, v);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      append_int(out_, static_cast<std::int64_t>(v));
    } else if (v.has_value()) {
      value(*v);
    } else {
      out_ += "null";
    }
  }
  std::string out_ = "[";
};

// {"1":"text",...}, for @pairs.
class JsonPairs {
 public:
  void add(std::int64_t id, std::string_view text) {
    out_ += out_.size() > 1 ? ",\"" : "\"";
    append_int(out_, id);
    out_ += "\":";
    base::append_json_string(out_, text);
  }
  [[nodiscard]] std::string text() const { return out_ + '}'; }
  [[nodiscard]] bool empty() const { return out_.size() == 1; }

 private:
  std::string out_ = "{";
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_JSON_ARRAYS_H_
