#include "core/waiting_for.h"

#include <array>
#include <cstddef>
#include <utility>

namespace waybill::core {

namespace {

constexpr std::array<std::string_view, 8> kWords{"QUEUED",       "BACKOFF",     "SERIAL_KEY",
                                                 "LEASE",        "NOT_SENT",    "LANE_PAUSED",
                                                 "UNKNOWN_TYPE", "SERVICE_DOWN"};

WaitingFor answer(WaitCode code, std::string zh, std::string en) {
  WaitingFor waiting;
  waiting.code = code;
  waiting.message_zh = std::move(zh);
  waiting.message_en = std::move(en);
  return waiting;
}

WaitingFor lease(const WaitFacts& facts, const base::TimeZone& zone) {
  const std::string& owner = facts.lease_owner;
  if (!facts.lease_until) return answer(WaitCode::kLease, "正在执行", "running");
  const std::string time = zone.clock_time(*facts.lease_until);
  auto waiting =
      *facts.lease_until > facts.now
          ? answer(WaitCode::kLease, "正在实例 " + owner + " 上执行，其租约到 " + time + " 为止",
                   "running on instance " + owner + ", whose lease ends at " + time)
          : answer(WaitCode::kLease,
                   "实例 " + owner + " 的租约已于 " + time + " 到期，任务即将恢复",
                   "the lease of instance " + owner + " expired at " + time +
                       "; it is about to be recovered");
  waiting.until = facts.lease_until;
  return waiting;
}

WaitingFor serial_key(const WaitFacts& facts) {
  if (!facts.key_holder) {
    return answer(WaitCode::kSerialKey, "等待同一业务键的前一个任务",
                  "waits for the task before it on the same key");
  }
  const std::string holder = std::to_string(*facts.key_holder);
  return answer(WaitCode::kSerialKey, "同一业务键被任务 " + holder + " 占用",
                "its key is held by task " + holder);
}

WaitingFor backoff(const WaitFacts& facts, const base::TimeZone& zone) {
  const std::string time = zone.clock_time(facts.due_at);
  auto waiting = answer(WaitCode::kBackoff, "将在 " + time + " 重试", "tries again at " + time);
  waiting.until = facts.due_at;
  return waiting;
}

// Sends that failed, or a command that is missing and will be made up for by the reconciler.
std::optional<WaitingFor> not_sent(const WaitFacts& facts, const base::TimeZone& zone) {
  if (!facts.has_command) {
    return answer(WaitCode::kNotSent, "任务指令缺失，将自动补发",
                  "its command is missing and will be made again");
  }
  if (facts.command_status != CommandStatus::kPending || facts.command_fail_count == 0)
    return std::nullopt;
  const std::string count = std::to_string(facts.command_fail_count);
  std::string zh = "消息服务不可用，任务指令已 " + count + " 次发送失败";
  std::string en = "the message broker is unavailable: the command could not be sent " + count +
                   (facts.command_fail_count == 1 ? " time" : " times");
  if (facts.command_next_send_at && *facts.command_next_send_at > facts.now) {
    const std::string time = zone.clock_time(*facts.command_next_send_at);
    zh += "，将在 " + time + " 重发";
    en += ", next try at " + time;
  }
  auto waiting = answer(WaitCode::kNotSent, std::move(zh), std::move(en));
  waiting.until = facts.command_next_send_at;
  return waiting;
}

WaitingFor queued(const WaitFacts& facts) {
  if (facts.ahead <= 0) {
    auto waiting = answer(WaitCode::kQueued, "即将开始", "is about to start");
    waiting.ahead = 0;
    return waiting;
  }
  const std::string count =
      std::to_string(facts.ahead) + (facts.ahead >= facts.ahead_shown ? "+" : "");
  auto waiting = answer(WaitCode::kQueued, "排队中，前面还有 " + count + " 个任务",
                        "queued behind " + count + (facts.ahead == 1 ? " task" : " tasks"));
  waiting.ahead = facts.ahead;
  return waiting;
}

WaitingFor pending(const WaitFacts& facts, const base::TimeZone& zone) {
  if (facts.unknown_type) {
    return answer(
        WaitCode::kUnknownType, "任务类型目前未注册，恢复注册后继续；也可以取消",
        "its type is not registered at present; it goes on when it is again, or can be cancelled");
  }
  if (facts.lane_paused) {
    return answer(WaitCode::kLanePaused, "该通道已被运维人员暂停",
                  "its lane was paused by an operator");
  }
  if (facts.due_at > facts.now) return backoff(facts, zone);
  if (auto waiting = not_sent(facts, zone)) return *waiting;
  if (facts.service_down) {
    return answer(WaitCode::kServiceDown, "业务服务暂不可用",
                  "the business service is unavailable at present");
  }
  return queued(facts);
}

}  // namespace

std::string_view to_string(WaitCode code) {
  const auto index = static_cast<std::size_t>(code);
  return index < kWords.size() ? kWords[index] : "QUEUED";
}

std::optional<WaitingFor> waiting_for(const WaitFacts& facts, const base::TimeZone& zone) {
  switch (facts.status) {
    case TaskStatus::kPending:
      return pending(facts, zone);
    case TaskStatus::kRunning:
      return lease(facts, zone);
    case TaskStatus::kBlocked:
      return serial_key(facts);
    case TaskStatus::kSucceeded:
    case TaskStatus::kFailed:
    case TaskStatus::kCancelled:
    case TaskStatus::kExpired:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace waybill::core
