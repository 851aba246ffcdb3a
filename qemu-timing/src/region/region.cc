#include "region/region.h"

#include "core/core.h"
#include "link/link_client.h"
#include "memory/cache_hierarchy.h"
#include "output/failure.h"
#include "output/file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace lockcross {

namespace {

// A well-mixed number for each (seed, core): the finalizer of SplitMix64.
uint64_t mix(uint64_t seed, uint64_t core) {
    uint64_t z = seed * 0x9e3779b97f4a7c15 + (core + 1) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

std::unique_ptr<Memory> make_memory(const Options &options, uint32_t lines,
                                    std::vector<Counts> &counts, Sleepers &sleepers) {
    if (options.link < 0)
        return std::make_unique<CacheHierarchy>(options, lines, counts);
    auto client = std::make_unique<LinkClient>(options.link, uint32_t(counts.size()), options);
    return std::make_unique<LinkedMemory>(options, lines, counts, std::move(client), sleepers);
}

uint32_t line_count(const Image &image, uint32_t line) {
    return uint32_t((image.size() + line - 1) / line);
}

} // namespace

Region::Region(const Options &options, Image image, uint32_t cores, std::string isa)
    : options(options), image(image), shadow(copy_of(image)), counts_(cores),
      memory_(make_memory(options, line_count(image, options.line), counts_, *this)), order_(cores),
      threads_(make_host_threads(cores, options.own_threads)), cycles_(cores) {
    report_.isa = std::move(isa);
    for (uint32_t core = 0; core < cores; core++)
        vcpus_.push_back(std::make_unique<Vcpu>(*this, core, options, *memory_, counts_[core]));
}

uint64_t Region::instructions() const {
    uint64_t sum = 0;
    for (const Counts &counts : counts_)
        sum += counts.instructions;
    return sum;
}

void Region::start() {
    for (uint32_t core = 0; core < cores(); core++) {
        Cycle start = mix(options.seed, core) % (uint64_t(options.offset_max) + 1);
        vcpus_[core]->core->start_at(start);
        report_.starts.push_back(start);
        order_.wait_at(core, start);
    }
    // A run that is linked sleeps whenever the other simulator is slow, which has limits of its
    // own.
    if (options.link < 0)
        watchdog_.emplace([this] { end_standing_still(); });
    first_ = next_turn();
}

void Region::end_standing_still() {
    write_report(false);
    fail(Exit::Failure,
         "the run stands still: a thread of the program has crashed (it touched memory "
         "that is not there, or executed no instruction), or waits for the system");
}

uint32_t Region::next_turn() {
    std::optional<uint32_t> next = order_.first();
    while (order_.any_waiting()) {
        Cycle until = next ? order_.next_access(*next) : std::numeric_limits<Cycle>::max();
        if (until <= memory_->horizon())
            break;
        memory_->advance(until);
        next = order_.first();
    }
    if (!next)
        give_up(Exit::Failure, "deadlock: every core waits in a loop that no other one can end");
    running_ = *next;
    vcpus_[*next]->turn_limit = turn_limit(*next);
    return *next;
}

int64_t Region::turn_limit(uint32_t core) const {
    int64_t limit = order_.limit(core);
    return order_.any_waiting() ? std::min(limit, int64_t(memory_->horizon())) : limit;
}

void Region::pass_turn(uint32_t core) {
    uint32_t next = next_turn();
    if (next == core)
        return;
    report_.handovers++;
    threads_->switch_to(core, next);
}

void Region::hand_over(uint32_t core, Cycle cycle) {
    order_.wait_at(core, cycle);
    pass_turn(core);
}

void Region::sleep_until_answered(uint32_t core) {
    order_.wait_for_memory(core);
    pass_turn(core);
}

bool Region::wait_in_loop(uint32_t core, uint64_t address) {
    LineId line = LineId(address / options.line);
    if (!memory_->has_copy(core, line))
        return false;
    memory_->watch(core, line, *this);
    order_.wait_in_loop(core);
    pass_turn(core);
    return true;
}

void Region::before_loss(uint32_t core) {
    const Vcpu &winner = *vcpus_[running_];
    auto goes_first = [&](Cycle cycle) {
        return cycle < winner.latest_access ||
               (cycle == winner.latest_access && core < winner.core_id);
    };
    vcpus_[core]->run_loop(goes_first);
    order_.wait_at(core, vcpus_[core]->access_cycle);
    vcpus_[running_]->turn_limit = turn_limit(running_);
}

bool Region::finish(uint32_t core) {
    vcpus_[core]->resolve();
    vcpus_[core]->core->end_block();
    cycles_[core] = vcpus_[core]->core->cycles();
    order_.leave(core);
    if (!order_.all_left()) {
        threads_->leave(core, next_turn());
        return false;
    }
    watchdog_.reset();
    memory_->finish();
    write_report(true);
    threads_->leave_last(core);
    return true;
}

void Region::mark_phase(uint32_t core, uint64_t phase) {
    Cycle cycle = now(core);
    report_.phases.push_back({core, phase, cycle, counts_[core]});
}

Cycle Region::now(uint32_t core) {
    vcpus_[core]->resolve();
    return vcpus_[core]->core->block_end();
}

Sleep Region::unpark(uint32_t core, LineId line, Cycle seen) {
    for (const auto &vcpu : vcpus_) {
        if (!vcpu->parked.waits_for(line))
            continue;
        // The kernel's line that says who sleeps crosses to the sleeper as the permit does.
        bool far = options.are_far(core, vcpu->core_id);
        Cycle crossing = far ? options.lat_dirty_far : options.lat_dirty;
        return vcpu->parked.unpark(options, seen > crossing ? seen - crossing : 0);
    }
    return sleep_after(options, 0);
}

uint32_t Region::interrupt_others(uint32_t core, Cycle now) {
    uint32_t interrupted = 0;
    for (uint32_t other = 0; other < cores(); other++) {
        if (other == core || order_.has_left(other) || vcpus_[other]->parked.is_parked())
            continue;
        if (order_.is_in_loop(other)) { // it runs its blocks by itself again
            memory_->unwatch(other);
            before_loss(other);
        }
        vcpus_[other]->interrupt_at(now);
        interrupted++;
    }
    return interrupted;
}

void Region::poke(uint64_t address, const void *bytes, size_t size) {
    std::memcpy(image.host + address, bytes, size);
    std::memcpy(&shadow[address], bytes, size);
}

void Region::give_up(Exit code, const std::string &why) {
    write_report(false);
    std::map<std::string, std::string> cores_by_place;
    for (uint32_t core = 0; core < cores(); core++) {
        std::string &named = cores_by_place[order_.has_left(core) ? "done" : vcpus_[core]->where()];
        named += (named.empty() ? "core " : " and ") + std::to_string(core);
    }
    std::string message = why;
    for (const auto &[place, named] : cores_by_place)
        message += "; " + named + ": " + place;
    fail(code, message);
}

void Region::write_report(bool complete) {
    report_.complete = complete;
    report_.cycles = cycles_;
    report_.memory_system = memory_->use();
    for (uint32_t core = 0; core < cores(); core++) {
        Cycle stalls = vcpus_[core]->core->stall_sum();
        // The cycles of a block that has not ended do not count.
        if (!complete)
            report_.cycles[core] = stalls;
        if (complete && stalls != cycles_[core]) {
            fail(Exit::Failure,
                 "the stalls of core " + std::to_string(core) + " do not add up to its cycles");
        }
    }
    if (!options.out.empty())
        write_file(options.out, to_json(report_, options, counts_));
}

} // namespace lockcross
