#include "api/errors.h"

#include <algorithm>
#include <array>
#include <utility>

namespace waybill::api {
namespace {

constexpr bool kAlways = true;
constexpr bool kByMode = false;

constexpr std::array kTable = std::to_array<ErrorInfo>({
    {"BAD_REQUEST", 40000, 400, kAlways, "请求格式不正确：{message}", "{message}"},
    {"INVALID", 40001, 400, kByMode, "参数 {field} 不符合要求：{message}", "{message}"},
    {"UNKNOWN_FIELD", 40002, 400, kByMode, "不接受字段 {field}",
     "the field {field} is not accepted"},
    {"UNKNOWN_TYPE", 40003, 400, kByMode, "没有名为 {actual} 的导出类型",
     "there is no export type {actual}"},
    {"UNKNOWN_FORMAT", 40004, 400, kByMode, "不支持格式 {actual}，目前只提供 XLSX",
     "the format {actual} is not offered; only XLSX is"},
    {"LIMIT_EXCEEDED", 40005, 400, kByMode, "{field} 超过上限 {limit} {unit}（实际 {actual}）",
     "{message}"},
    {"UNAUTHENTICATED", 40100, 401, kAlways, "请先登录", "please log in"},
    {"FORBIDDEN", 40300, 403, kByMode, "没有权限：{message}", "{message}"},
    {"TYPE_DISABLED", 40301, 403, kByMode, "导出类型 {actual} 已停用",
     "the export type {actual} is disabled"},
    {"NOT_FOUND", 40400, 404, kByMode, "内容不存在", "there is no such thing"},
    {"FILE_NOT_READY", 40401, 404, kByMode, "文件尚未生成", "the task has no finished file"},
    {"FILE_MISSING", 40402, 404, kByMode, "文件暂时无法读取，请联系管理员",
     "the file cannot be found; please tell an administrator"},
    {"METHOD_NOT_ALLOWED", 40500, 405, kAlways, "此地址不支持该请求方法", "{message}"},
    {"REQUEST_TIMEOUT", 40800, 408, kAlways, "请求发送超时", "{message}"},
    {"CONFLICT", 40900, 409, kByMode, "当前状态不允许此操作：{message}", "{message}"},
    {"IDEMPOTENCY_KEY_REUSED", 40901, 409, kByMode, "该 Idempotency-Key 已用于另一个请求",
     "this Idempotency-Key was used for a different request"},
    {"NOT_FAILED", 40902, 409, kByMode, "只有失败的任务可以重试",
     "only a failed task can be retried"},
    {"FILE_EXPIRED", 41000, 410, kByMode, "文件已过期并删除，请重新导出",
     "the file has expired and is gone; please export again"},
    {"PAYLOAD_TOO_LARGE", 41300, 413, kAlways, "请求内容过大：{message}", "{message}"},
    {"URI_TOO_LONG", 41400, 414, kAlways, "请求地址过长", "{message}"},
    {"UNSUPPORTED_MEDIA_TYPE", 41500, 415, kAlways, "请求内容必须是 application/json",
     "the request body must be application/json"},
    {"RANGE_NOT_SATISFIABLE", 41600, 416, kAlways, "请求的范围超出文件大小",
     "the requested range lies outside the file"},
    {"EXPECTATION_FAILED", 41700, 417, kAlways, "不支持请求头 Expect 的要求", "{message}"},
    {"RATE_LIMITED", 42900, 429, kAlways, "请求过于频繁，请稍后再试",
     "too many requests; please wait a moment"},
    {"EXPORT_USER_LIMIT", 42901, 429, kByMode,
     "您有 {actual} 个导出任务尚未完成，上限为 {limit} 个",
     "you have {actual} unfinished exports; the limit is {limit}"},
    {"EXPORT_TYPE_LIMIT", 42902, 429, kByMode,
     "该类型有 {actual} 个导出任务尚未完成，上限为 {limit} 个",
     "this type has {actual} unfinished exports; the limit is {limit}"},
    {"HEADERS_TOO_LARGE", 43100, 431, kAlways, "请求头过大", "{message}"},
    {"INTERNAL", 50000, 500, kAlways, "服务器内部错误", "an internal error"},
    {"UNAVAILABLE", 50300, 503, kAlways, "服务暂不可用，请稍后再试",
     "the service is unavailable at present; please try again"},
    {"OUTCOME_UNKNOWN", 50301, 503, kAlways, "操作结果尚未确认，请稍后查看",
     "it is not yet known whether this took effect; please look again"},
    {"OVERLOADED", 50302, 503, kAlways, "服务繁忙，请稍后再试",
     "the service is busy; please try again"},
});

const ErrorInfo* find(std::string_view word) {
  const auto* const row = std::ranges::find(kTable, word, &ErrorInfo::word);
  return row == kTable.end() ? nullptr : row;
}

std::string_view word_of(base::ErrorCategory category) {
  switch (category) {
    case base::ErrorCategory::kInvalid:
      return "INVALID";
    case base::ErrorCategory::kNotFound:
      return "NOT_FOUND";
    case base::ErrorCategory::kDenied:
      return "FORBIDDEN";
    case base::ErrorCategory::kConflict:
      return "CONFLICT";
    case base::ErrorCategory::kLimit:
      return "LIMIT_EXCEEDED";
    case base::ErrorCategory::kUnavailable:
    case base::ErrorCategory::kTimeout:
    case base::ErrorCategory::kCancelled:
      return "UNAVAILABLE";
    case base::ErrorCategory::kOutcomeUnknown:
      return "OUTCOME_UNKNOWN";
    case base::ErrorCategory::kInternal:
      return "INTERNAL";
  }
  return "INTERNAL";
}

}  // namespace

std::span<const ErrorInfo> error_table() { return kTable; }

const ErrorInfo& error_info(std::string_view word) {
  const ErrorInfo* const row = find(word);
  return row != nullptr ? *row : *find("INTERNAL");
}

const ErrorInfo& error_info(const base::Error& error) {
  const ErrorInfo* const own = error.code.empty() ? nullptr : find(error.code);
  return own != nullptr ? *own : error_info(word_of(error.category));
}

std::string error_text(const ErrorInfo& info, const base::Error& error, Language language) {
  const std::array<std::pair<std::string_view, const std::string*>, 5> values{
      {{"{message}", &error.message},
       {"{field}", &error.field},
       {"{limit}", &error.limit},
       {"{unit}", &error.unit},
       {"{actual}", &error.actual}}};
  std::string_view rest = language == Language::kChinese ? info.zh : info.en;
  std::string out;
  while (!rest.empty()) {
    const auto* const hit =
        std::ranges::find_if(values, [&](const auto& v) { return rest.starts_with(v.first); });
    if (hit != values.end()) {
      out += *hit->second;
      rest.remove_prefix(hit->first.size());
    } else {
      out += rest.front();
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace waybill::api
