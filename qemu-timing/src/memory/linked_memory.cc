#include "memory/linked_memory.h"

#include <algorithm>
#include <utility>

namespace lockcross {

LinkedMemory::LinkedMemory(const Options &options, uint32_t lines, std::vector<Counts> &counts,
                           std::unique_ptr<MemorySimulator> simulator, Sleepers &sleepers)
    : Memory(uint32_t(counts.size())), options_(options), counts_(counts),
      simulator_(std::move(simulator)), sleepers_(sleepers), lines_(lines),
      touched_(counts.size()) {
    for (size_t core = 0; core < counts.size(); core++)
        l1_.emplace_back(options.l1_size, options.l1_ways, options.line);
}

Mesi LinkedMemory::state(uint32_t core, LineId id) const {
    const Line &line = lines_[id];
    if (line.owner == core)
        return line.written ? Mesi::M : Mesi::E;
    return line.sharers[core] ? Mesi::S : Mesi::I;
}

AccessDelay LinkedMemory::read(uint32_t core, LineId id, Cycle now) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    count(core, CoherenceEvent::Load, before)++;
    if (before != Mesi::I) {
        touch(core, id, now);
        return wait_for_fill(core, line, now);
    }
    Stall cause = line.owner != kNobody ? Stall::Transfer : line.used ? Stall::L2 : Stall::Memory;
    return delay_of(core, request_read(core, id, now), now, cause);
}

AccessDelay LinkedMemory::get_exclusive(uint32_t core, LineId id, Cycle now, CoherenceEvent access,
                                        Cycle writing) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    count(core, access, before)++;
    if (line.owner == core) {
        write_own(core, id, now);
        AccessDelay delay = wait_for_fill(core, line, now);
        write_in_flight_until(core, id, now + delay.total() + writing);
        return delay;
    }
    uint64_t ticket = request_write(core, id, now);
    // At once, since others may want the line while this core sleeps.
    write_in_flight_until(core, id, line.fill + writing);
    return delay_of(core, ticket, now, lines_[id].fill_cause);
}

Completion LinkedMemory::drain(uint32_t core, LineId id, Completion start) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    count(core, CoherenceEvent::Store, before)++;
    if (line.owner == core) {
        write_own(core, id, start.cycle);
        return later(start, is_open(line.fill) ? line.fill : value(line.fill));
    }
    return {request_write(core, id, start), start.cycle};
}

void LinkedMemory::write_in_flight_until(uint32_t core, LineId id, Completion until) {
    InFlight &write = lines_[id].write;
    write.until = write.core == core ? later(write.until, until) : until;
    write.core = core;
}

// A copy that the core has asked for may still be on its way.
AccessDelay LinkedMemory::wait_for_fill(uint32_t core, const Line &line, Cycle now) {
    if (line.owner != core || is_done(line.fill, now))
        return {};
    Stall cause = line.fill_cause;
    Cycle there = when(core, line.fill);
    return {0, there > now ? there - now : 0, cause};
}

AccessDelay LinkedMemory::delay_of(uint32_t core, uint64_t ticket, Cycle now, Stall cause) {
    when(core, Completion(ticket, now));
    const Answer &found = answer(ticket);
    if (found.sent > now)
        counts_[core].holds++;
    return {found.sent - now, found.done - found.sent, cause};
}

uint64_t LinkedMemory::request_read(uint32_t core, LineId id, Cycle now) {
    Line &line = lines_[id];
    std::vector<Completion> after{now};
    if (line.write.core != core)
        after.push_back(line.write.until);
    if (line.owner != kNobody) {
        before_loss(line.owner, id);
        count(line.owner, CoherenceEvent::Downgraded, state(line.owner, id))++;
    }
    line.owner = line.sharers.none() ? core : kNobody;
    line.written = false;
    line.sharers.set(core);
    insert_in_l1(core, id);
    uint64_t ticket = request(RequestKind::Read, core, id, after);
    line.reads.push_back({core, Completion(ticket, now) + simulator_->lat_l1()});
    return ticket;
}

uint64_t LinkedMemory::request_write(uint32_t core, LineId id, Completion start) {
    Line &line = lines_[id];
    std::vector<Completion> after{start};
    if (line.write.core != core)
        after.push_back(line.write.until);
    for (const InFlight &read : line.reads) {
        if (read.core != core)
            after.push_back(read.until);
    }
    bool foreign = line.owner != kNobody && line.owner != core;
    line.fill_cause = line.sharers[core] ? Stall::Upgrade
                      : foreign          ? Stall::Transfer
                      : line.used        ? Stall::L2
                                         : Stall::Memory;
    invalidate_others(core, id);
    line.sharers.set(core);
    line.owner = core;
    line.written = true;
    line.reads.clear();
    insert_in_l1(core, id);
    uint64_t ticket = request(RequestKind::Write, core, id, after);
    line.fill = Completion(ticket, start.cycle);
    line.write = {core, line.fill + simulator_->lat_l1()};
    return ticket;
}

uint64_t LinkedMemory::open_answer() {
    answers_.emplace_back();
    return first_kept_ + answers_.size() - 1;
}

void LinkedMemory::forget_before(Cycle cycle) {
    while (!answers_.empty() && answers_.front().done < cycle) {
        answers_.pop_front();
        first_kept_++;
    }
}

uint64_t LinkedMemory::request(RequestKind kind, uint32_t core, LineId id,
                               const std::vector<Completion> &after) {
    uint64_t ticket = open_answer();
    use_.requests++;
    lines_[id].used = true;
    for (LineId line : std::exchange(touched_[core], {}))
        lines_[line].touched.reset(core);
    start_after(after, ticket, {LinkRequest{0, ticket, id, core, kind}, 0, 0});
    return ticket;
}

Completion LinkedMemory::join(const Completion &one, const Completion &other) {
    uint64_t ticket = open_answer();
    start_after({one, other}, ticket, {});
    return {ticket, std::max(one.cycle, other.cycle)};
}

void LinkedMemory::start_after(const std::vector<Completion> &after, uint64_t ticket,
                               Queued queued) {
    for (const Completion &one : after) {
        if (is_open(one)) {
            dependents_[one.ticket].push_back({ticket, one});
            queued.waits_for++;
            queued.earliest = std::max(queued.earliest, one.cycle);
        } else {
            queued.earliest = std::max(queued.earliest, value(one));
        }
    }
    if (queued.waits_for == 0)
        start(ticket, queued);
    else
        queued_[ticket] = queued;
}

void LinkedMemory::start(uint64_t ticket, const Queued &queued) {
    if (queued.request)
        send(*queued.request, queued.earliest);
    else
        settle(ticket, queued.earliest);
}

void LinkedMemory::send(LinkRequest request, Cycle cycle) {
    Cycle now = simulator_->now();
    if (cycle + lag_ < now) {
        use_.late += now - cycle - lag_;
        lag_ = now - cycle;
    }
    answer(request.id).sent = cycle;
    answer(request.id).lag = lag_;
    request.cycle = cycle + lag_;
    open_.insert(request.cycle);
    to_send_.push_back(request);
}

void LinkedMemory::touch(uint32_t core, LineId id, Cycle now) {
    l1_[core].touch(id);
    Line &line = lines_[id];
    if (line.touched[core])
        return;
    line.touched.set(core);
    touched_[core].push_back(id);
    tell(RequestKind::Touch, core, id, now);
}

void LinkedMemory::write_own(uint32_t core, LineId id, Cycle now) {
    Line &line = lines_[id];
    if (line.written) {
        touch(core, id, now);
        return;
    }
    line.written = true;
    line.fill = now; // it was there before
    l1_[core].touch(id);
    tell(RequestKind::TouchWrite, core, id, now);
}

void LinkedMemory::tell(RequestKind kind, uint32_t core, LineId id, Cycle now) {
    use_.touches++;
    to_send_.push_back({std::max(now + lag_, simulator_->now()), 0, id, core, kind});
}

void LinkedMemory::insert_in_l1(uint32_t core, LineId id) {
    LineId victim = l1_[core].touch(id);
    if (victim == kNoLine)
        return;
    count(core, CoherenceEvent::Evicted, state(core, victim))++;
    Line &line = lines_[victim];
    line.sharers.reset(core);
    if (line.owner == core)
        line.owner = kNobody;
}

void LinkedMemory::invalidate_others(uint32_t core, LineId id) {
    Line &line = lines_[id];
    for (uint32_t other = 0; other < counts_.size(); other++) {
        if (other == core || !line.sharers[other])
            continue;
        before_loss(other, id);
        count(other, CoherenceEvent::Invalidated, state(other, id))++;
        line.sharers.reset(other);
        l1_[other].remove(id);
    }
    lose_reservations(core, id);
}

Cycle LinkedMemory::value(const Completion &completion) const {
    if (completion.known())
        return completion.cycle;
    return std::max(completion.cycle, done(completion) + completion.after);
}

Cycle LinkedMemory::wait(uint32_t core, const Completion &completion) {
    while (is_open(completion)) {
        sleeping_[core] = completion;
        sleepers_.sleep_until_answered(core);
    }
    return value(completion);
}

bool LinkedMemory::answered_by(const Completion &completion, Cycle now) {
    if (is_open(completion) && sleeping_.empty() && now > horizon())
        advance(now);
    return !is_open(completion) && value(completion) <= now;
}

// No core that waits goes on before the first answer.
Cycle LinkedMemory::horizon() const {
    Cycle now = simulator_->now();
    if (!open_.empty())
        now = std::max(now, *open_.begin() + simulator_->lat_miss() - 1);
    return now - lag_;
}

void LinkedMemory::advance(Cycle until) {
    bool forever = until == std::numeric_limits<Cycle>::max();
    use_.turns++;
    Cycle limit = forever ? kNoLimit : until + lag_;
    for (const LinkAnswer &theirs : simulator_->exchange(to_send_, limit)) {
        const Answer &ours = answer(theirs.id);
        open_.erase(open_.find(ours.sent + ours.lag));
        Cycle net = theirs.cycle - ours.lag - simulator_->lat_l1();
        settle(theirs.id, std::max(ours.sent, net));
    }
    if (!forever && until > kForgotten)
        forget_before(until - kForgotten);
}

void LinkedMemory::settle(uint64_t ticket, Cycle done) {
    answer(ticket).done = done;
    for (auto one = sleeping_.begin(); one != sleeping_.end();) {
        if (one->second.ticket == ticket) {
            sleepers_.go_on_at(one->first, value(one->second));
            one = sleeping_.erase(one);
        } else {
            ++one;
        }
    }
    auto waiting_for_it = dependents_.find(ticket);
    if (waiting_for_it == dependents_.end())
        return;
    std::vector<Dependent> dependents = std::move(waiting_for_it->second);
    dependents_.erase(waiting_for_it);
    for (const Dependent &dependent : dependents) {
        auto waiting = queued_.find(dependent.ticket);
        Queued &queued = waiting->second;
        queued.earliest = std::max(queued.earliest, value(dependent.on));
        if (--queued.waits_for > 0)
            continue;
        Queued ready = queued;
        queued_.erase(waiting);
        start(dependent.ticket, ready);
    }
}

} // namespace lockcross
