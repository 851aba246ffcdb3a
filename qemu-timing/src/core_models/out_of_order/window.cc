#include "core_models/out_of_order/window.h"

#include "base/registers.h"

#include <algorithm>

namespace lockcross {

Window::Window(const Options &options)
    : options_(options), rob_(options.rob), scheduler_(options.scheduler), bookings_(kPortCycles) {}

void Window::start_at(Cycle cycle) {
    fetch_from_ = retired_at_ = cycle;
    fetched_.start_at(cycle);
    entered_.start_at(cycle);
    retired_.start_at(cycle);
}

Cycle Window::enter(const MicroOp &op) {
    Cycle fetched = fetched_.take(fetch_from_, options_.fetch_width);
    Cycle room = std::max(slot(rob_), slot(scheduler_));
    Cycle entered = entered_.take(std::max(fetched + options_.front_end, room), options_.width);
    Cycle ready = entered + 1;
    for_each_register(op.reads, [&](int reg) { ready = std::max(ready, ready_[size_t(reg)]); });
    slot(scheduler_) = ready;
    return ready;
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
        return 1;
    }
}

Cycle Window::issue(Port port, Cycle earliest) {
    for (Cycle cycle = earliest;; cycle++) {
        Booking &booking = bookings_[cycle % kPortCycles];
        if (booking.cycle > cycle) // so long ago that later cycles have its place
            return cycle;
        if (booking.cycle < cycle)
            booking = {cycle, {}};
        if (booking.used[size_t(port)] < ports(port)) {
            booking.used[size_t(port)]++;
            return cycle;
        }
    }
}

Cycle Window::finish(const MicroOp &op, Cycle done) {
    for_each_register(op.writes, [&](int reg) { ready_[size_t(reg)] = done; });
    retired_at_ = retired_.take(done, options_.retire_width);
    slot(rob_) = retired_at_;
    number_++;
    return retired_at_;
}

void Window::redirect() {
    fetched_.close();
    fetch_from_ = std::max(fetch_from_, fetched_.cycle() + options_.taken_branch);
}

void Window::refetch(Cycle resolved) {
    fetch_from_ = std::max(fetch_from_, resolved + options_.mispredict);
}

} // namespace lockcross
