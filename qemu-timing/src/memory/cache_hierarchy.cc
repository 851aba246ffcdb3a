#include "memory/cache_hierarchy.h"

#include <algorithm>
#include <bit>

namespace lockcross {

namespace {
constexpr uint8_t kSeveral = UINT8_MAX; // reads of several cores are in flight
uint64_t bit_of(uint32_t core) { return uint64_t(1) << core; }
} // namespace

Memory::Memory(const Options &options, uint32_t lines, std::vector<Counts> &counts)
    : options_(options), counts_(counts), lines_(lines),
      l1_(counts.size(), Tags(options.l1_size, options.l1_ways, options.line)),
      l2_(options.l2_size, options.l2_ways, options.line), reservations_(counts.size(), kNoLine) {}

Mesi Memory::state(uint32_t core, LineId line) const {
    const Line &l = lines_[line];
    return (l.sharers & bit_of(core)) ? l.state : Mesi::I;
}

Fill Memory::read(uint32_t core, LineId id, Cycle now) {
    Line &line = lines_[id];
    Mesi mine = state(core, id);
    count(core, Event::Load, mine)++;
    if (mine != Mesi::I) {
        l1_[core].touch(id);
        if (line.writer == core && line.fill_until > now) {
            return {0, line.fill_until - now, line.fill_cause};
        }
        return {};
    }
    Cycle hold = held(core, line, now, false);
    Fill fill;
    if (line.state == Mesi::E || line.state == Mesi::M) {
        count(uint32_t(std::countr_zero(line.sharers)), Event::Downgraded, line.state)++;
        line.state = Mesi::S;
        fill = {0, options_.lat_dirty, Stall::Transfer};
    } else {
        fill = fetch(line, id);
    }
    fill.hold = hold;
    line.state = line.sharers ? Mesi::S : Mesi::E;
    line.sharers |= bit_of(core);
    install(core, id);
    Cycle end = now + hold + fill.latency;
    bool others = line.read_until > now && line.reader != core;
    line.reader = others ? kSeveral : uint8_t(core);
    line.read_until = std::max(line.read_until, end);
    return fill;
}

Fill Memory::own(uint32_t core, LineId id, Cycle now, Event event) {
    Line &line = lines_[id];
    Mesi mine = state(core, id);
    count(core, event, mine)++;
    if (mine == Mesi::M || mine == Mesi::E) {
        line.state = Mesi::M;
        l1_[core].touch(id);
        bool filling = line.writer == core && line.fill_until > now;
        return filling ? Fill{0, line.fill_until - now, line.fill_cause} : Fill{};
    }
    Cycle hold = held(core, line, now, true);
    bool others = (line.sharers & ~bit_of(core)) != 0;
    Fill fill;
    if (mine == Mesi::S) {
        fill = {0, options_.lat_upgrade + (others ? options_.lat_invalidate : 0), Stall::Upgrade};
    } else if (line.state == Mesi::E || line.state == Mesi::M) {
        fill = {0, options_.lat_dirty, Stall::Transfer};
    } else {
        fill = fetch(line, id);
        if (others)
            fill.latency += options_.lat_invalidate;
    }
    fill.hold = hold;
    invalidate_others(core, line, id);
    line.sharers = bit_of(core);
    line.state = Mesi::M;
    install(core, id);
    line.writer = uint8_t(core);
    line.fill_until = now + hold + fill.latency;
    line.fill_cause = fill.cause;
    return fill;
}

void Memory::write_until(uint32_t core, LineId id, Cycle until) {
    Line &line = lines_[id];
    // An earlier store of the core to the line may still be in flight.
    line.write_until = line.writer == core ? std::max(line.write_until, until) : until;
    line.writer = uint8_t(core);
}

Fill Memory::fetch(Line &line, LineId id) {
    bool present = line.in_l2;
    enter_l2(id);
    return present ? Fill{0, options_.lat_l2, Stall::L2}
                   : Fill{0, options_.lat_memory, Stall::Memory};
}

Cycle Memory::held(uint32_t core, const Line &line, Cycle now, bool write) {
    Cycle free = now;
    if (line.writer != core)
        free = std::max(free, line.write_until);
    if (write && line.reader != core)
        free = std::max(free, line.read_until);
    if (free > now)
        counts_[core].holds++;
    return free - now;
}

void Memory::invalidate_others(uint32_t core, Line &line, LineId id) {
    for (uint32_t other = 0; other < counts_.size(); other++) {
        if (other == core)
            continue;
        if (line.sharers & bit_of(other))
            drop(other, line, id, Event::Invalidated);
        if (reservations_[other] == id)
            reservations_[other] = kNoLine;
    }
}

void Memory::drop(uint32_t core, Line &line, LineId id, Event event) {
    count(core, event, line.state)++;
    line.sharers &= ~bit_of(core);
    if (!line.sharers)
        line.state = Mesi::I;
    l1_[core].remove(id);
}

void Memory::install(uint32_t core, LineId id) {
    LineId victim = l1_[core].touch(id);
    if (victim != kNoLine)
        drop(core, lines_[victim], victim, Event::Evicted);
}

void Memory::enter_l2(LineId id) {
    lines_[id].in_l2 = true;
    LineId victim = l2_.touch(id);
    if (victim == kNoLine)
        return;
    Line &line = lines_[victim];
    for (uint32_t core = 0; core < counts_.size(); core++) {
        if (line.sharers & bit_of(core))
            drop(core, line, victim, Event::Evicted);
    }
    line.in_l2 = false;
}

} // namespace lockcross
