// Appends JSON text to a string: the arrays that carry batches into SQL, API answers, log lines. It
// escapes and puts commas; the caller opens and closes. For reading JSON use Boost.JSON or simdjson
// in a .cc file.

#ifndef WAYBILL_BASE_JSON_WRITER_H_
#define WAYBILL_BASE_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace waybill::base {

// Appends `text` as a JSON string with its quotes (RFC 8259 §7). Bytes that are not UTF-8 become
// U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// Not thread-safe. Usage: w.begin_object(); w.key("id"); w.value(7); w.end_object(); use w.text().
class JsonWriter {
 public:
  JsonWriter& begin_object() {
    open('{');
    return *this;
  }
  JsonWriter& end_object() {
    close('}');
    return *this;
  }
  JsonWriter& begin_array() {
    open('[');
    return *this;
  }
  JsonWriter& end_array() {
    close(']');
    return *this;
  }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(double number);  // shortest round trip; NaN and infinities become null
  JsonWriter& value(bool truth);
  JsonWriter& null();
  // `json` must be one complete JSON value.
  JsonWriter& raw(std::string_view json);
  // A 64-bit id as a string, as every API answer has it.
  JsonWriter& id(std::int64_t number) { return value(std::string_view(std::to_string(number))); }

  template <class T>
  JsonWriter& field(std::string_view name, T&& v) {
    key(name);
    return value(std::forward<T>(v));
  }

  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (need_comma_) out_ += ',';
    need_comma_ = true;
  }
  void open(char c) {
    comma();
    out_ += c;
    need_comma_ = false;
  }
  void close(char c) {
    out_ += c;
    need_comma_ = true;
  }
  std::string out_;
  bool need_comma_ = false;
};

}  // namespace waybill::base

#endif  // WAYBILL_BASE_JSON_WRITER_H_
