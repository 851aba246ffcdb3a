#include "core_models/out_of_order/window.h"

#include "base/registers.h"

#include <algorithm>

namespace lockcross {

Window::Window(const Options &options)
    : options_(options), rob_(options.rob), scheduler_(options.scheduler),
      load_queue_(options.load_queue), miss_buffers_(options.miss_buffers),
      taken_branches_(options.taken_in_flight), bookings_(kPortCycles) {}

void Window::start_at(Cycle cycle) {
    fetch_from_ = retired_at_ = cycle;
    scheduler_.start_at(cycle);
    fetched_.start_at(cycle);
    entered_.start_at(cycle);
    retired_.start_at(cycle);
}

Cycle Window::operands_at(RegisterSet reads, Cycle entered) const {
    Cycle ready = entered;
    for_each_register(reads, [&](int reg) { ready = std::max(ready, ready_[size_t(reg)]); });
    return ready;
}

void Window::settle(RegisterSet registers) {
    for_each_register(registers, [&](int reg) { ready_[size_t(reg)] += options_.lat_alu; });
    counted_ &= ~registers;
}

Cycle Window::enter(const MicroOp &op, Cycle from, Cycle room) {
    if (options_.fetch_line)
        fetch_line(op);
    room = std::max(room, enter_from_);
    if (op.loads)
        room = std::max(room, load_queue_.oldest());
    settle(counted_ & op.reads & ~op.update_writes);
    Cycle ready = operands_at(op.reads, 0);
    for (unsigned i = 0; i < op.slots; i++) {
        room = scheduler_.take(std::max(room, rob_.oldest(i)));
        Cycle fetched = fetched_.take(fetch_from_, options_.fetch_width);
        entered_.take(std::max(fetched + options_.front_end, room), options_.width);
        ready = std::max(ready, entered_.cycle() + 1);
        scheduler_.leave(ready);
    }
    if (op.update_writes) {
        Cycle base = operands_at(op.update_reads, entered_.cycle() + 1);
        updated_at_ = std::max(base, from) + (op.counted ? 0 : options_.lat_alu);
    }
    return std::max(ready, from);
}

Cycle &Window::free_entry(Ring<Cycle> &entries, Cycle from) {
    Cycle &next = entries.take();
    if (next <= from)
        return next;
    Cycle *first = &next;
    for (Cycle &entry : entries) {
        if (entry <= from)
            return entry;
        if (entry < *first)
            first = &entry;
    }
    return *first;
}

void Window::fetch_line(const MicroOp &op) {
    uint64_t line = (op.address + op.size - 1) / options_.line;
    if (line != fetched_line_) {
        fetched_.close();
        fetch_from_ = std::max(fetch_from_, fetched_.cycle() + options_.fetch_line);
    }
    fetched_line_ = line;
}

Cycle Window::miss(Cycle start, Cycle latency) {
    Cycle &buffer = free_entry(miss_buffers_, start);
    Cycle delay = buffer > start ? buffer - start : 0;
    buffer = start + delay + latency;
    return delay;
}

uint32_t Window::ports(Port port) const {
    switch (port) {
    case Port::Simple:
        return options_.alu_ports;
    case Port::Load:
        return options_.load_ports;
    case Port::Store:
        return options_.store_ports;
    default:
        return options_.mul_ports;
    }
}

Cycle Window::issue(Port port, Cycle earliest) {
    uint32_t count = ports(port);
    Busy &busy = busy_[size_t(port)];
    bool is_busy = busy.from <= earliest && earliest < busy.until;
    for (Cycle cycle = is_busy ? busy.until : earliest;; cycle++) {
        Booking &booking = bookings_[cycle % kPortCycles];
        uint32_t round = uint32_t(cycle / kPortCycles);
        if (booking.round > round) // so long ago that later cycles have its place
            return cycle;
        if (booking.round < round)
            booking = {round, {}};
        if (booking.used[size_t(port)] < count) {
            booking.used[size_t(port)]++;
            busy = {is_busy ? busy.from : earliest, cycle};
            return cycle;
        }
    }
}

Cycle Window::finish(const MicroOp &op, Cycle result, Cycle done) {
    for_each_register(op.update_writes, [&](int reg) { ready_[size_t(reg)] = updated_at_; });
    for_each_register(op.writes, [&](int reg) { ready_[size_t(reg)] = result; });
    counted_ = (counted_ | (op.counted ? op.update_writes : 0)) & ~op.writes;
    retired_at_ = std::max(retired_at_, done + options_.retire_delay);
    for (unsigned i = 0; i < op.slots; i++)
        retired_at_ = retired_.take(retired_at_, options_.retire_width);
    for (unsigned i = 0; i < op.slots; i++)
        rob_.take() = retired_at_;
    if (op.loads)
        load_queue_.take() = retired_at_;
    return retired_at_;
}

void Window::redirect(Cycle cycles) {
    taken_ = fetched_.cycle() == redirected_ ? taken_ + 1 : 1;
    redirected_ = fetched_.cycle();
    if (taken_ >= options_.taken_branches) {
        fetched_.close();
        cycles += options_.taken_branch;
    }
    fetch_from_ = std::max(fetch_from_, fetched_.cycle() + cycles);
    if (taken_branches_.empty())
        return;
    // What follows this one is fetched when the one that had its entry before has left it.
    Cycle &entry = taken_branches_.take();
    fetch_from_ = std::max(fetch_from_, entry);
    entry = retired_at_;
}

void Window::refetch(Cycle resolved) {
    fetch_from_ = std::max(fetch_from_, resolved + options_.mispredict);
    if (!options_.squash_width)
        return;
    // What was fetched meanwhile is not known; as much as could enter.
    Cycle squashed = std::min<Cycle>(options_.rob, (resolved - entered_.cycle()) * options_.width);
    enter_from_ = resolved + options_.retire_delay + squashed / options_.squash_width;
}

} // namespace lockcross
