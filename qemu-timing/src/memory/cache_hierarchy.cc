#include "memory/cache_hierarchy.h"

#include <algorithm>
#include <utility>

namespace lockcross {

namespace {
constexpr uint8_t kSeveral = UINT8_MAX; // reads of several cores are in flight
} // namespace

CacheHierarchy::CacheHierarchy(const Options &options, uint32_t lines, std::vector<Counts> &counts)
    : Memory(uint32_t(counts.size())), options_(options), counts_(counts), lines_(lines),
      l2_(options.l2_size, options.l2_ways, options.line) {
    for (size_t core = 0; core < counts.size(); core++)
        l1_.emplace_back(options.l1_size, options.l1_ways, options.line);
}

Mesi CacheHierarchy::state(uint32_t core, LineId id) const {
    const Line &line = lines_[id];
    return line.sharers[core] ? line.state : Mesi::I;
}

AccessDelay CacheHierarchy::read(uint32_t core, LineId id, Cycle now) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    count(core, CoherenceEvent::Load, before)++;
    if (before != Mesi::I) {
        l1_[core].touch(id);
        if (line.writer == core && line.fill_until > now)
            return {0, line.fill_until - now, line.fill_cause};
        return {};
    }
    Cycle hold = hold_for_conflict(core, line, now, false);
    AccessDelay delay;
    if (line.state == Mesi::E || line.state == Mesi::M) {
        before_loss(line.owner, id);
        count(line.owner, CoherenceEvent::Downgraded, line.state)++;
        line.state = Mesi::S;
        delay = {hold, options_.lat_dirty, Stall::Transfer};
    } else {
        delay = fill_from_below(line, id);
        delay.hold = hold;
    }
    line.state = line.sharers.any() ? Mesi::S : Mesi::E;
    line.sharers.set(core);
    line.owner = uint8_t(core);
    insert_in_l1(core, id);
    bool others = line.read_until > now && line.reader != core;
    line.reader = others ? kSeveral : uint8_t(core);
    line.read_until = std::max(line.read_until, now + delay.total());
    return delay;
}

AccessDelay CacheHierarchy::get_exclusive(uint32_t core, LineId id, Cycle now,
                                          CoherenceEvent access, Cycle writing) {
    AccessDelay delay = take(core, id, now, access);
    write_in_flight_until(core, id, now + delay.total() + writing);
    return delay;
}

AccessDelay CacheHierarchy::take(uint32_t core, LineId id, Cycle now, CoherenceEvent access) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    count(core, access, before)++;
    if (before == Mesi::M || before == Mesi::E) {
        line.state = Mesi::M;
        l1_[core].touch(id);
        if (line.writer == core && line.fill_until > now)
            return {0, line.fill_until - now, line.fill_cause};
        return {};
    }
    Cycle hold = hold_for_conflict(core, line, now, true);
    bool others = line.sharers.count() > (before == Mesi::I ? 0 : 1);
    Cycle invalidation = others ? options_.lat_invalidate : 0;
    AccessDelay delay;
    if (before == Mesi::S) {
        delay = {0, options_.lat_upgrade + invalidation, Stall::Upgrade};
    } else if (line.state == Mesi::E || line.state == Mesi::M) {
        delay = {0, options_.lat_dirty, Stall::Transfer};
    } else {
        delay = fill_from_below(line, id);
        delay.latency += invalidation;
    }
    delay.hold = hold;
    invalidate_others(core, line, id);
    line.sharers.reset();
    line.sharers.set(core);
    line.owner = uint8_t(core);
    line.state = Mesi::M;
    insert_in_l1(core, id);
    line.writer = uint8_t(core);
    line.fill_until = now + delay.total();
    line.fill_cause = delay.cause;
    return delay;
}

Completion CacheHierarchy::drain(uint32_t core, LineId id, Completion start) {
    return start + take(core, id, start.cycle, CoherenceEvent::Store).total();
}

void CacheHierarchy::write_in_flight_until(uint32_t core, LineId id, Completion until) {
    Line &line = lines_[id];
    // An earlier store of the core to the line may still be in flight.
    line.write_until = line.writer == core ? std::max(line.write_until, until.cycle) : until.cycle;
    line.writer = uint8_t(core);
}

AccessDelay CacheHierarchy::fill_from_below(Line &line, LineId id) {
    bool hit = line.in_l2;
    bool first = !std::exchange(line.used, true);
    insert_in_l2(id);
    if (first && options_.warm)
        return {};
    if (hit)
        return {0, options_.lat_l2, Stall::L2};
    return {0, options_.lat_memory, Stall::Memory};
}

Cycle CacheHierarchy::hold_for_conflict(uint32_t core, const Line &line, Cycle now, bool write) {
    Cycle free = now;
    if (line.writer != core)
        free = std::max(free, line.write_until);
    if (write && line.reader != core)
        free = std::max(free, line.read_until);
    if (free > now)
        counts_[core].holds++;
    return free - now;
}

void CacheHierarchy::invalidate_others(uint32_t core, Line &line, LineId id) {
    for (uint32_t other = 0; other < counts_.size(); other++) {
        if (other == core)
            continue;
        if (line.sharers[other])
            drop_copy(other, line, id, CoherenceEvent::Invalidated);
    }
    lose_reservations(core, id);
}

void CacheHierarchy::drop_copy(uint32_t core, Line &line, LineId id, CoherenceEvent why) {
    before_loss(core, id);
    count(core, why, line.state)++;
    line.sharers.reset(core);
    if (line.sharers.none())
        line.state = Mesi::I;
    l1_[core].remove(id);
}

void CacheHierarchy::insert_in_l1(uint32_t core, LineId id) {
    LineId victim = l1_[core].touch(id);
    if (victim != kNoLine)
        drop_copy(core, lines_[victim], victim, CoherenceEvent::Evicted);
}

void CacheHierarchy::insert_in_l2(LineId id) {
    lines_[id].in_l2 = true;
    LineId victim = l2_.touch(id);
    if (victim == kNoLine)
        return;
    Line &line = lines_[victim];
    for (uint32_t core = 0; core < counts_.size(); core++) {
        if (line.sharers[core])
            drop_copy(core, line, victim, CoherenceEvent::Evicted);
    }
    line.in_l2 = false;
}

} // namespace lockcross
