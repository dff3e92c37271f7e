// Result<T>: a value or an Error. Both the type and every function that returns it are
// [[nodiscard]]. (C++20 has no std::expected.)

#ifndef WAYBILL_BASE_RESULT_H_
#define WAYBILL_BASE_RESULT_H_

#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/error.h"

namespace waybill::base {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& value() & {
    check_ok();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check_ok();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check_ok();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok().
  const Error& error() const& {
    check_failed();
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    check_failed();
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  void check_ok() const { WAYBILL_CHECK(ok(), "value() of a failed Result"); }
  void check_failed() const { WAYBILL_CHECK(!ok(), "error() of a successful Result"); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    WAYBILL_CHECK(error_.has_value(), "error() of a successful Status");
    return *error_;
  }
  Error&& error() && {
    WAYBILL_CHECK(error_.has_value(), "error() of a successful Status");
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

// Success or an Error.
using Status = Result<void>;

}  // namespace waybill::base

#define WAYBILL_CONCAT_INNER(a, b) a##b
#define WAYBILL_CONCAT(a, b) WAYBILL_CONCAT_INNER(a, b)

// WAYBILL_TRY(expression): returns the error of a failed Result from the enclosing function.
#define WAYBILL_TRY(expression)                                                 \
  do {                                                                          \
    auto&& waybill_try_result = (expression);                                   \
    if (!waybill_try_result.ok()) return std::move(waybill_try_result).error(); \
  } while (false)

// WAYBILL_ASSIGN(auto rows, expression): the value on success, an early return with the error on
// failure.
#define WAYBILL_ASSIGN(declaration, expression) \
  WAYBILL_ASSIGN_IMPL(WAYBILL_CONCAT(waybill_result_, __LINE__), declaration, expression)
#define WAYBILL_ASSIGN_IMPL(name, declaration, expression) \
  auto name = (expression);                                \
  if (!name.ok()) return std::move(name).error();          \
  declaration = std::move(name).value()

#endif  // WAYBILL_BASE_RESULT_H_
