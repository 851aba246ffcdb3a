#include "memory/cache_hierarchy.h"

#include <algorithm>
#include <utility>

namespace lockcross {

namespace {
constexpr uint8_t kSeveral = UINT8_MAX; // reads of several cores are in flight
} // namespace

CacheHierarchy::CacheHierarchy(const Options &options, uint32_t lines, std::vector<Counts> &counts)
    : Memory(uint32_t(counts.size())), options_(options), counts_(counts), lines_(lines),
      jitter_(options.seed), kept_(counts.size()),
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
        if (line.upgrading && line.filler == core) // it has the data
            return {};
        return wait_for_fill(core, line, now);
    }
    if (copy_still_usable(core, id, now, false))
        return {};
    bool owned = line.state == Mesi::E || line.state == Mesi::M;
    if (line.state == Mesi::M && options_.migratory)
        return get_m(core, id, now, false, Mesi::E);
    Request request;
    if (owned) {
        before_loss(line.owner, id);
        count(line.owner, CoherenceEvent::Downgraded, line.state)++;
        request = {.latency = dirty_latency(core, line), .cause = Stall::Transfer, .copied = true};
    } else {
        bool shared = options_.time_of_flight && line.sharers.any();
        Cycle from_home = shared ? shared_latency(core, line) : 0;
        request = fill_from_below(line, id);
        request.latency = std::max(request.latency, from_home);
        request.shared = shared;
    }
    uint32_t owner = line.owner;
    AccessDelay delay = send(core, line, now, request, false);
    if (owned)
        line.departing.cores.set(owner);
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
    AccessDelay delay = write_hit_or_miss(core, id, now, access);
    Cycle done = now + delay.total() + writing;
    write_in_flight_until(core, id, done);
    Kept &kept = kept_[core];
    if (kept.line == id) { // the pair is over
        kept.last_pair = done - kept.since;
        kept.line = kNoLine;
    }
    return delay;
}

AccessDelay CacheHierarchy::write_hit_or_miss(uint32_t core, LineId id, Cycle now,
                                              CoherenceEvent access) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    bool prefetched = line.prefetched && line.filler == core;
    count(core, access, prefetched ? line.prefetched_from : before)++;
    line.prefetched = line.prefetched && !prefetched;
    if (before == Mesi::M || before == Mesi::E) {
        if (before == Mesi::E)
            lose_reservations(core, id);
        line.state = Mesi::M;
        l1_[core].touch(id);
        return wait_for_fill(core, line, now);
    }
    if (copy_still_usable(core, id, now, true)) {
        lose_reservations(core, id);
        // Who has read it since is still to get the data, this write among them.
        for (uint32_t other = 0; other < counts_.size(); other++) {
            if (line.sharers[other])
                before_loss(other, id);
        }
        return {};
    }
    // QEMU has the value of a store-conditional already, as it has a store's.
    bool stored = access == CoherenceEvent::Store || is_reserved(core, now);
    return get_m(core, id, now, stored, Mesi::M);
}

void CacheHierarchy::prefetch_m(uint32_t core, LineId id, Cycle when, CoherenceEvent access) {
    if (!options_.ask_early || !options_.time_of_flight)
        return;
    Line &line = lines_[id];
    Mesi before = state(core, id);
    if (before >= Mesi::E || copy_still_usable(core, id, when, true))
        return;
    get_m(core, id, when, access == CoherenceEvent::Store, Mesi::M);
    line.prefetched = true;
    line.prefetched_from = before;
}

AccessDelay CacheHierarchy::take_for_reservation(uint32_t core, LineId id, Cycle now) {
    if (!options_.reservation_kept || !options_.time_of_flight)
        return {};
    Line &line = lines_[id];
    AccessDelay delay;
    if (state(core, id) >= Mesi::E)
        delay = wait_for_fill(core, line, now);
    else
        delay = get_m(core, id, now, false, Mesi::E);
    Kept &kept = kept_[core];
    if (kept.line != kNoLine) // the pair before took longer than its line was kept
        kept.last_pair = 0;
    Cycle most = options_.reservation_kept;
    Cycle keeps = kept.last_pair ? std::min(kept.last_pair, most) : most;
    kept = {.line = id,
            .since = now + delay.total(),
            .until = now + delay.total() + keeps,
            .last_pair = kept.last_pair};
    line.kept_until = kept.until;
    return delay;
}

AccessDelay CacheHierarchy::get_m(uint32_t core, LineId id, Cycle now, bool stored, Mesi then) {
    Line &line = lines_[id];
    Mesi before = state(core, id);
    bool others = line.sharers.count() > (before == Mesi::I ? 0 : 1);
    bool owned = line.state == Mesi::E || line.state == Mesi::M;
    Cycle invalidation = others ? options_.lat_invalidate : 0;
    Request request;
    if (before == Mesi::S) {
        request = {.latency = upgrade_latency(core, line) + invalidation,
                   .cause = Stall::Upgrade,
                   .copied = others};
    } else if (owned) {
        request = {.latency = dirty_latency(core, line), .cause = Stall::Transfer, .copied = true};
    } else {
        request = fill_from_below(line, id);
        // The copies of others have as far to go as where the core has one itself.
        if (others && options_.time_of_flight)
            request.latency = std::max(request.latency, upgrade_latency(core, line));
        request.latency += invalidation;
        request.copied = others;
    }
    CoreSet sharers = line.sharers;
    sharers.reset(core);
    AccessDelay delay = send(core, line, now, request, true);
    line.departing.cores = sharers;
    line.departing.writable = owned;
    line.departing.stored = stored;
    invalidate_others(core, line, id);
    if (then == Mesi::M || !options_.time_of_flight)
        lose_reservations(core, id);
    line.sharers.reset();
    line.sharers.set(core);
    line.owner = uint8_t(core);
    line.state = then;
    insert_in_l1(core, id);
    line.writer = uint8_t(core);
    line.filler = uint8_t(core);
    line.fill_until = now + delay.total();
    line.fill_cause = delay.cause;
    line.upgrading = options_.time_of_flight && before == Mesi::S;
    return delay;
}

AccessDelay CacheHierarchy::far_atomic(uint32_t core, LineId id, Cycle now) {
    Line &line = lines_[id];
    count(core, CoherenceEvent::Atomic, state(core, id))++;
    bool copied = line.sharers.any();
    bool owned = line.state == Mesi::E || line.state == Mesi::M;
    Request fetch; // what the home waits for
    if (copied) {
        Cycle from_owner = dirty_latency(core, line), from_all = upgrade_latency(core, line);
        Cycle three_hops = owned ? from_owner : from_all + options_.lat_invalidate;
        fetch = {.latency = 2 * (three_hops / 3),
                 .cause = owned ? Stall::Transfer : Stall::Upgrade,
                 .copied = true};
    } else {
        fetch = fill_from_below(line, id);
        if (fetch.cause == Stall::L2)
            fetch = {}; // the home has it
    }
    if (options_.lat_jitter && copied)
        fetch.latency += jitter_() % (uint64_t(options_.lat_jitter) + 1);
    Cycle there = now + options_.lat_far_atomic / 2;
    Cycle served = std::max(there, line.home_busy_until), reached = served;
    if (copied) {
        reached = std::max({served + fetch.latency / 2, line.write_until, line.read_until + 1,
                            line.fill_until + 1, line.kept_until + 1});
        served = reached - fetch.latency / 2;
    }
    CoreSet sharers = line.sharers;
    sharers.reset(core);
    line.departing = {.cores = sharers, .at = reached, .writable = owned, .stored = false};
    invalidate_others(core, line, id);
    lose_reservations(core, id);
    if (line.sharers[core])
        drop_copy(core, line, id, CoherenceEvent::Invalidated);
    line.prefetched = line.upgrading = false;
    line.home_busy_until = served + fetch.latency + options_.far_atomic_every;
    line.write_until = std::max(line.write_until, served + fetch.latency);
    line.writer = uint8_t(core);
    if (served > there)
        counts_[core].holds++;
    return {.conflict_wait = served - there, .latency = fetch.latency, .cause = fetch.cause};
}

Completion CacheHierarchy::drain(uint32_t core, LineId id, Completion start) {
    return start + write_hit_or_miss(core, id, start.cycle, CoherenceEvent::Store).total();
}

void CacheHierarchy::write_in_flight_until(uint32_t core, LineId id, Completion until) {
    Line &line = lines_[id];
    // An earlier store of the core to the line may still be in flight.
    bool earlier = options_.time_of_flight || line.writer == core;
    line.write_until = earlier ? std::max(line.write_until, until.cycle) : until.cycle;
    line.writer = uint8_t(core);
}

bool CacheHierarchy::is_far(uint32_t core, const Line &line) const {
    if (!options_.cluster)
        return false;
    for (uint32_t other = 0; other < counts_.size(); other++) {
        if (line.sharers[other] && options_.are_far(core, other))
            return true;
    }
    return false;
}

Cycle CacheHierarchy::dirty_latency(uint32_t core, const Line &line) const {
    return is_far(core, line) ? options_.lat_dirty_far : options_.lat_dirty;
}

Cycle CacheHierarchy::upgrade_latency(uint32_t core, const Line &line) const {
    return is_far(core, line) ? options_.lat_upgrade_far : options_.lat_upgrade;
}

Cycle CacheHierarchy::shared_latency(uint32_t core, const Line &line) const {
    for (uint32_t other = 0; other < counts_.size(); other++) {
        if (line.sharers[other] && !options_.are_far(core, other))
            return options_.lat_shared ? options_.lat_shared : 2 * (options_.lat_dirty / 3);
    }
    return 2 * (options_.lat_dirty_far / 3);
}

CacheHierarchy::Request CacheHierarchy::fill_from_below(Line &line, LineId id) {
    bool hit = line.in_l2;
    bool first = !std::exchange(line.used, true);
    insert_in_l2(id);
    if (first && options_.warm)
        return {.latency = 0, .cause = Stall::Hit};
    if (hit)
        return {.latency = options_.lat_l2, .cause = Stall::L2};
    return {.latency = options_.lat_memory, .cause = Stall::Memory};
}

AccessDelay CacheHierarchy::send(uint32_t core, Line &line, Cycle now, Request request,
                                 bool write) {
    if (options_.lat_jitter && (request.copied || request.shared))
        request.latency += jitter_() % (uint64_t(options_.lat_jitter) + 1);
    Cycle wait = options_.time_of_flight ? queue(line, now, request)
                                         : wait_for_conflict(core, line, now, write);
    if (wait > 0)
        counts_[core].holds++;
    return {.conflict_wait = wait, .latency = request.latency, .cause = request.cause};
}

Cycle CacheHierarchy::wait_for_conflict(uint32_t core, const Line &line, Cycle now, bool write) {
    Cycle free = now;
    if (line.writer != core)
        free = std::max(free, line.write_until);
    if (write && line.reader != core)
        free = std::max(free, line.read_until);
    return free - now;
}

// See the drawing in the header: three hops, each a third of the latency, or two.
Cycle CacheHierarchy::queue(Line &line, Cycle now, const Request &request) {
    Cycle hop = request.latency / (request.shared ? 2 : 3);
    Cycle served = std::max(now + hop, line.home_busy_until);
    if (request.shared) {
        line.home_busy_until = served + (options_.readers_in_turn ? 2 * hop : 0);
        return served - (now + hop);
    }
    if (!request.copied) {
        line.home_busy_until = served;
        line.departing = {};
        return served - (now + hop);
    }
    Cycle reached = std::max({served + hop, line.write_until, line.read_until + 1,
                              line.fill_until + 1, line.kept_until + 1});
    Cycle wait = reached - (now + 2 * hop);
    line.home_busy_until = now + wait + request.latency + hop;
    line.departing = {.cores = {}, .at = reached, .writable = true, .stored = false};
    return wait;
}

bool CacheHierarchy::copy_still_usable(uint32_t core, LineId id, Cycle now, bool write) const {
    if (kept_[core].line == id && now <= kept_[core].until)
        return true;
    const DepartingCopies &departing = lines_[id].departing;
    return options_.time_of_flight && departing.cores[core] && now < departing.at &&
           !departing.stored && (!write || departing.writable);
}

AccessDelay CacheHierarchy::wait_for_fill(uint32_t core, const Line &line, Cycle now) {
    if (line.filler == core && line.fill_until > now)
        return {.latency = line.fill_until - now, .cause = line.fill_cause};
    return {};
}

void CacheHierarchy::invalidate_others(uint32_t core, Line &line, LineId id) {
    for (uint32_t other = 0; other < counts_.size(); other++) {
        if (other == core)
            continue;
        if (line.sharers[other])
            drop_copy(other, line, id, CoherenceEvent::Invalidated);
    }
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
