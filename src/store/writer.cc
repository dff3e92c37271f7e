#include "store/writer.h"

#include <algorithm>
#include <utility>

namespace waybill::store {

namespace {

// Operations that share one transaction at most; each may be a batch of kMaxBatch.
constexpr std::size_t kMaxShared = 16;

}  // namespace

base::Error to_error(const SqlFault& fault, std::string_view operation) {
  const std::string text = std::string(operation) + ": " + fault.what();
  switch (fault.kind()) {
    case FaultKind::kRetry:
    case FaultKind::kAway:
      return base::unavailable(text);
    case FaultKind::kUnknown:
      return base::outcome_unknown(text);
    case FaultKind::kConflict:
      return base::conflict("DUPLICATE_KEY", text);
    case FaultKind::kFatal:
      break;
  }
  return base::internal(text);
}

Writer::Writer(const SessionContext& context) : context_(context) {}

base::Status Writer::run(std::string_view operation, const Body& body, Urgency urgency) {
  Job job{.operation = operation, .body = &body};
  return submit(job, urgency);
}

base::Status Writer::read(std::string_view operation, const Body& body) {
  Job job{.operation = operation, .body = &body, .in_transaction = false};
  return submit(job, Urgency::kNormal);
}

base::Status Writer::submit(Job& job, Urgency urgency) {
  {
    const std::lock_guard lock(mutex_);
    (urgency == Urgency::kUrgent ? urgent_ : normal_).push_back(&job);
    if (!busy_) job.woken.raise();
    busy_ = true;
  }
  job.woken.wait();
  if (!job.done) lead(job);
  return std::move(job.result);
}

// Works until its own job is done, then hands the session to somebody who waits.
void Writer::lead(Job& own) {
  while (!own.done) {
    std::vector<Job*> group;
    {
      const std::lock_guard lock(mutex_);
      group = take_group();
    }
    run_group(group);
    for (Job* job : group) {
      job->done = true;
      if (job != &own) job->woken.raise();
    }
  }
  const std::lock_guard lock(mutex_);
  busy_ = !urgent_.empty() || !normal_.empty();
  if (busy_) (urgent_.empty() ? normal_ : urgent_).front()->woken.raise();
}

// A renewal does not wait for the batches behind it, and a read has no transaction to share.
std::vector<Writer::Job*> Writer::take_group() {
  std::deque<Job*>& queue = urgent_.empty() ? normal_ : urgent_;
  std::vector<Job*> group;
  while (!queue.empty() && group.size() < kMaxShared &&
         (group.empty() || queue.front()->in_transaction)) {
    group.push_back(queue.front());
    queue.pop_front();
    if (!group.back()->in_transaction) break;
  }
  return group;
}

void Writer::run_group(std::span<Job* const> jobs) {
  if (jobs.size() > 1 && run_together(jobs)) return;
  for (Job* job : jobs) job->result = run_alone(*job);
}

// False: rolled back, nobody has an answer yet.
bool Writer::run_together(std::span<Job* const> jobs) {
  bool again = false;
  const base::Status result = try_once(jobs, again);
  const bool unknown =
      !result.ok() && result.error().category == base::ErrorCategory::kOutcomeUnknown;
  if (!result.ok() && !unknown) return false;
  for (Job* job : jobs) job->result = result;
  return true;
}

base::Status Writer::run_alone(Job& job) {
  Job* const one[] = {&job};
  for (int attempt = 1;; ++attempt) {
    bool again = false;
    base::Status result = try_once(one, again);
    if (!again || attempt >= context_.driver.capabilities().busy_tries) return result;
  }
}

base::Status Writer::try_once(std::span<Job* const> jobs, bool& again) {
  std::string_view operation = jobs.front()->operation;
  const bool one_session = context_.driver.capabilities().one_session;
  // A session may have died while nobody used it. That shows when its next transaction begins, and
  // nothing has happened by then: a new session tries again.
  bool may_be_stale = session_ != nullptr && !one_session;
  try {
    if (session_ == nullptr) session_ = std::make_unique<Session>(context_, SessionRole::kWriter);
    session_->set_operation(operation);
    const bool in_transaction = jobs.front()->in_transaction;
    if (in_transaction) session_->begin();
    may_be_stale = false;
    for (Job* job : jobs) {
      operation = job->operation;
      session_->set_operation(operation);
      (*job->body)(*session_);
    }
    if (in_transaction) session_->commit();
    return {};
  } catch (const SqlFault& fault) {
    if (session_ != nullptr) session_->rollback();
    again = fault.kind() == FaultKind::kRetry || (fault.kind() == FaultKind::kAway && may_be_stale);
    const bool broken = fault.kind() == FaultKind::kAway || fault.kind() == FaultKind::kUnknown;
    // A database in memory ends with its connection.
    if (broken && !one_session) session_.reset();
    return to_error(fault, operation);
  } catch (Abort& abort) {
    session_->rollback();
    return std::move(abort.error);
  } catch (const std::exception& error) {
    if (session_ != nullptr) session_->rollback();
    return base::internal(std::string(operation) + ": " + error.what());
  }
}

Readers::Readers(const SessionContext& context, Writer& writer)
    : context_(context), writer_(writer) {}

base::Status Readers::run(std::string_view operation, const Body& body) {
  if (context_.driver.capabilities().one_session) return writer_.read(operation, body);
  std::unique_ptr<Session> session;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(
        lock, [this] { return !free_.empty() || made_ < context_.driver.capabilities().readers; });
    if (free_.empty()) {
      ++made_;
    } else {
      session = std::move(free_.back());
      free_.pop_back();
    }
  }
  base::Status result;
  for (int attempt = 1; attempt <= context_.driver.capabilities().busy_tries; ++attempt) {
    try {
      if (session == nullptr) session = std::make_unique<Session>(context_, SessionRole::kReader);
      session->set_operation(operation);
      body(*session);
      result = {};
      break;
    } catch (const SqlFault& fault) {
      result = to_error(fault, operation);
      if (fault.kind() == FaultKind::kAway) session.reset();
      if (fault.kind() != FaultKind::kRetry && fault.kind() != FaultKind::kAway) break;
    } catch (Abort& abort) {
      result = std::move(abort.error);
      break;
    } catch (const std::exception& error) {
      result = base::internal(std::string(operation) + ": " + error.what());
      break;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (session != nullptr) {
      free_.push_back(std::move(session));
    } else {
      --made_;
    }
  }
  freed_.notify_one();
  return result;
}

}  // namespace waybill::store
