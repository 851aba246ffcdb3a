#include "core_models/out_of_order/out_of_order_core.h"

#include "core/branch_predictor.h"
#include "isa/insn.h"

#include <algorithm>

namespace lockcross {

namespace {

bool is_full_fence(Fence kind) {
    return kind == Fence::Mfence || kind == Fence::Hwsync || kind == Fence::Dmb ||
           kind == Fence::Dsb;
}

// Behind these nothing executes before they are done.
bool serializes(Fence kind) {
    return kind == Fence::Isync || kind == Fence::Isb || kind == Fence::Dsb ||
           kind == Fence::Lfence;
}

bool orders_loads(Fence kind) { return kind == Fence::Lwsync || kind == Fence::DmbLd; }

bool orders_stores(Fence kind) {
    return kind == Fence::Lwsync || kind == Fence::DmbSt || kind == Fence::Sfence;
}

} // namespace

OutOfOrderCore::OutOfOrderCore(const Options &options, uint32_t id, Memory &memory, Counts &counts)
    : MicroOpCore(options, id, memory, counts), window_(options),
      stores_(options.store_buffer, store_order::Value(options.store_order), options.drain_width,
              options.store_ports, memory, id) {}

void OutOfOrderCore::start_at(Cycle cycle) {
    start_ = clock_ = cycle;
    window_.start_at(cycle);
}

void OutOfOrderCore::resolve_branch(const Block &last, const Block &next) {
    bool taken = next.pc != last.fallthrough;
    if (!predictor_.predicted(last.branch, last.branch_pc, last.fallthrough, next.pc)) {
        window_.refetch(resolved_);
        front_wait_ = Stall::Mispredict;
    } else if (taken) {
        bool returns = last.branch == Branch::Return || last.branch == Branch::ConditionalReturn;
        window_.redirect(returns ? options_.taken_return : 0);
    }
}

void OutOfOrderCore::run_to(size_t end) {
    while (next_op_ < end) {
        const MicroOp &op = current();
        Cycle ready = entered_ ? access_at_ : enter();
        entered_ = false;
        switch (op.unit) {
        case Unit::Simple:
            if (op.fence) {
                full_fence(ready, 0);
                break;
            }
            if (op.pause && options_.lat_pause) {
                execute_after_ = std::max(ready, window_.oldest()) + options_.lat_pause;
                finish(execute_after_);
                break;
            }
            finish(window_.issue(Port::Simple, ready) + options_.lat_alu);
            break;
        case Unit::Multiply:
            finish(window_.issue(Port::Multiply, ready) + options_.lat_mul);
            break;
        case Unit::Divide:
            finish(window_.issue(Port::Multiply, ready) + options_.lat_div);
            break;
        case Unit::Memory: // QEMU reported no access for it
            finish(window_.issue(Port::Load, ready) + options_.lat_issue + options_.lat_l1);
            break;
        case Unit::None:
            finish(ready);
            break;
        }
    }
}

Cycle OutOfOrderCore::enter() { return window_.enter(current(), execute_after_); }

void OutOfOrderCore::finish(Cycle result, Cycle done) {
    done_ = done;
    resolved_ = result;
    Cycle entered = window_.entered();
    Cycle retired = window_.finish(current(), result, done);
    Cycle late = entered > clock_ ? entered - clock_ : 0;
    retire(retired, Stall::Dependence, front_wait_, late);
    front_wait_ = Stall::Fetch;
    next_op_++;
}

// What an access waits for before it competes for its line. An atomic competes when it starts.
void OutOfOrderCore::before_access(const TimedInsn &insn) {
    if (entered_)
        return;
    if (!run_to_access(insn))
        return;
    bool retires_first = !insn.is_atomic() || drains_as_store(insn);
    Cycle entry = retires_first && !current().loads ? stores_.free_at() : 0;
    note_wait(Stall::StoreBuffer, std::max(entry, window_.entered()) - window_.entered());
    Cycle ready = std::max(window_.enter(current(), execute_after_, entry), loads_after_);
    stores_.forget_drained(window_.entered());
    if (!retires_first) {
        operands_at_ = ready;
        ready = std::max(ready, last_atomic_);
        if (options_.atomic_start >= atomic_start::when_oldest)
            ready = std::max(ready, window_.oldest());
        // A release comes after all older stores; where stores keep their order, its own does too.
        bool drains = options_.atomic_start == atomic_start::when_drained ||
                      (insn.release && options_.store_order == store_order::any);
        Cycle free = drains ? stores_.drained_at(ready) : ready;
        note_wait(Stall::Drain, free - ready);
        ready =
            options_.atomic_start >= atomic_start::when_oldest ? free + options_.lat_oldest : free;
    } else if (insn.acquire && options_.acquire_load == acquire_load::waits) {
        Cycle free = stores_.releases_drained_at(ready);
        note_wait(Stall::Drain, free - ready);
        ready = free;
    }
    access_at_ = turn_at_ = ready;
    // No core sees a store before it has retired.
    if (options_.time_of_flight && retires_first && (insn.is_atomic() || !current().loads))
        turn_at_ = std::max(ready, window_.oldest());
    entered_ = true;
}

Cycle OutOfOrderCore::latency_behind_load(const TimedInsn &insn) const {
    if (!insn.load_op)
        return 0;
    return insn.latency == Latency::Mul   ? options_.lat_mul
           : insn.latency == Latency::Div ? options_.lat_div
                                          : options_.lat_alu;
}

Cycle OutOfOrderCore::read(LineId first, LineId last, Cycle from) {
    Cycle latest = from;
    for (LineId line = first; line <= last; line++) {
        bool misses = !memory_.has_copy(id_, line); // else it may wait for a fill under way
        AccessDelay delay = memory_.read(id_, line, from);
        Cycle miss = misses ? window_.miss(from + delay.conflict_wait, delay.latency) : 0;
        note_wait(delay);
        note_wait(delay.cause, miss);
        latest = std::max(latest, from + delay.total() + miss);
    }
    return latest + options_.lat_l1;
}

void OutOfOrderCore::wait_for_aliases(uint64_t address, uint32_t size) {
    const auto *store = stores_.unexecuted(address, size, options_.alias_bytes, access_at_);
    if (!store)
        return;
    bool predicted = !options_.unpredicted_stores || window_.entered() >= loads_after_;
    if (!predicted) {
        note_wait(Stall::Mispredict, store->data - access_at_);
        window_.refetch(store->data);
        access_at_ = enter();
    }
    access_at_ = std::max(access_at_, store->data);
}

// When a load has its value from an older store that covers it.
Cycle OutOfOrderCore::forwarded(const StoreQueue::Store &store, const TimedInsn &insn,
                                uint64_t address, uint32_t size, Cycle start) const {
    bool exact = store.address == address && store.size == size;
    if (exact && options_.rename_memory && insn.address_form &&
        store.address_form == insn.address_form)
        return std::max(window_.entered() + 1, store.data);
    return std::max(start, store.data) + (exact ? options_.lat_forward : options_.lat_forward_part);
}

// What a load waits for beside the end of an older store, of which it needs more than that wrote.
Cycle OutOfOrderCore::penalty_behind(const StoreQueue::Store &store) const {
    return options_.forward_fail + (store.size == 1 ? options_.forward_fail_byte : 0);
}

void OutOfOrderCore::load(const TimedInsn &insn, uint64_t address, uint32_t size) {
    LineId first = line_of(address), last = line_of(address + size - 1);
    before_access(insn);
    if (!entered_) {
        memory_.read(id_, first, access_at_);
        return;
    }
    if (options_.alias_bytes > 1)
        wait_for_aliases(address, size);
    Cycle start = window_.issue(Port::Load, access_at_) + options_.lat_issue;
    if (start < last_atomic_store_.drained.cycle && last_atomic_store_.overlaps(address, size)) {
        note_wait(Stall::Atomic, last_atomic_store_.drained.cycle - start);
        start = last_atomic_store_.drained.cycle;
    }
    const StoreQueue::Store *older = stores_.find(address, size, start);
    // Another core wrote the line later: then the store must have drained by now.
    bool overwritten = older && !memory_.has_copy(id_, first);
    Cycle data;
    if (!older || overwritten) {
        if (overwritten)
            start = std::max(start, memory_.when(id_, older->drained));
        data = read(first, last, start);
    } else if (older->covers(address, size)) {
        data = forwarded(*older, insn, address, size, start);
    } else {
        Cycle from = std::max(start, memory_.when(id_, older->drained)) + penalty_behind(*older);
        note_wait(Stall::Forward, from - start);
        data = read(first, last, from);
    }
    if (insn.acquire)
        loads_after_ = std::max(loads_after_, data);
    entered_ = false;
    finish(data + latency_behind_load(insn));
}

void OutOfOrderCore::store(const TimedInsn &insn, uint64_t address, uint32_t size) {
    before_access(insn);
    if (entered_) {
        if (options_.alias_bytes > 1) {
            if (const auto *older =
                    stores_.unexecuted(address, size, options_.alias_bytes, access_at_))
                access_at_ = older->data;
        }
        Cycle data = window_.issue(Port::Store, access_at_) + options_.lat_issue;
        prefetch_m(address, size, data, CoherenceEvent::Store);
        entered_ = false;
        finish(data);
    }
    put_into_queue(insn, address, size, done_);
}

void OutOfOrderCore::prefetch_m(uint64_t address, uint32_t size, Cycle when,
                                CoherenceEvent access) {
    for (LineId line = line_of(address); line <= line_of(address + size - 1); line++)
        memory_.prefetch_m(id_, line, when, access);
}

bool OutOfOrderCore::drains_as_store(const TimedInsn &insn) const {
    return insn.may_be_far && !insn.returns && options_.store_atomics != store_atomics::near;
}

bool OutOfOrderCore::is_far(const TimedInsn &insn, LineId line) const {
    if (!insn.may_be_far)
        return false;
    bool owned = memory_.is_exclusive(id_, line);
    if (insn.returns)
        return options_.returning_atomics >=
               (owned ? returning_atomics::far : returning_atomics::far_unless_owned);
    return options_.store_atomics >= (owned ? store_atomics::far : store_atomics::far_unless_owned);
}

// As a store, the atomic has left the core when it retires.
void OutOfOrderCore::store_atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                                  Cycle latency) {
    before_access(insn);
    Cycle data = window_.issue(Port::Store, access_at_) + options_.lat_issue;
    entered_ = false;
    finish(data);
    LineId line = line_of(address);
    bool owned = memory_.is_exclusive(id_, line), far = is_far(insn, line);
    Completion start = stores_.drain_start(window_.oldest(), line, owned, insn.release);
    Completion written =
        far ? start + (memory_.far_atomic(id_, line, start.cycle).total() + options_.lat_far_atomic)
            : memory_.drain(id_, line, start) + options_.lat_drain;
    const auto *older = stores_.find(uint64_t(line) * options_.line, options_.line, start.cycle);
    Completion drained = stores_.push(
        {.address = address, .size = size, .data = done_, .release = insn.release, .known = false},
        start, written + latency, older);
    if (!far)
        memory_.write_in_flight_until(id_, line, drained);
    store_seen_ = drained.cycle;
}

void OutOfOrderCore::put_into_queue(const TimedInsn &insn, uint64_t address, uint32_t size,
                                    Cycle data) {
    LineId first = line_of(address), last = line_of(address + size - 1);
    for (LineId line = first; line <= last; line++) {
        bool owned = memory_.is_exclusive(id_, line);
        Completion start = stores_.drain_start(window_.oldest(), line, owned, insn.release);
        Completion written = memory_.drain(id_, line, start) + options_.lat_drain;
        const auto *older =
            stores_.find(uint64_t(line) * options_.line, options_.line, start.cycle);
        Completion drained = stores_.push({.address = address,
                                           .size = size,
                                           .data = data,
                                           .release = insn.release,
                                           .address_form = insn.address_form,
                                           .owned = owned},
                                          start, written, older);
        memory_.write_in_flight_until(id_, line, drained);
        store_seen_ = drained.cycle;
    }
}

bool OutOfOrderCore::forwards(const StoreQueue::Store &store, uint64_t address,
                              uint32_t size) const {
    return options_.atomic_forward && store.owned && store.covers(address, size);
}

OutOfOrderCore::EarlyResult OutOfOrderCore::early_result(const TimedInsn &insn, uint64_t address,
                                                         uint32_t size) {
    Cycle start = window_.issue(Port::Load, operands_at_) + options_.lat_issue;
    const StoreQueue::Store *older = stores_.find(address, size, start);
    Cycle value = start + options_.lat_l1;
    Cycle exchanged = value + options_.lat_alu;
    if (older) {
        if (forwards(*older, address, size))
            value = std::max(start, older->data) + options_.atomic_forward;
        else if (older->covers(address, size))
            value = forwarded(*older, insn, address, size, start);
        else
            value = std::max(start, memory_.when(id_, older->drained)) + penalty_behind(*older) +
                    options_.lat_l1;
    }
    Cycle result = value + options_.lat_alu;
    return {.result = result, .written = insn.exchanges ? std::min(exchanged, result) : result};
}

// When an atomic that could start then reads its word, which an older store wrote.
Cycle OutOfOrderCore::start_behind(const StoreQueue::Store &store, uint64_t address, uint32_t size,
                                   Cycle start) {
    if (!forwards(store, address, size))
        return std::max(start, memory_.when(id_, store.drained));
    // It has the word without a look into the cache.
    Cycle word = std::max(operands_at_, store.data) + options_.atomic_forward;
    return std::max(start + options_.lat_l1, word) - options_.lat_l1;
}

void OutOfOrderCore::atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                            uint32_t latency) {
    if (drains_as_store(insn))
        return store_atomic(insn, address, size, latency);
    before_access(insn);
    // All of its micro-operations but its load and its store.
    for (unsigned i = 2; i < current().slots; i++)
        window_.issue(Port::Simple, window_.entered() + 1);
    LineId line = line_of(address);
    if (is_far(insn, line))
        return far_atomic(insn, address, size, latency);
    prefetch_m(address, size, operands_at_, CoherenceEvent::Atomic);
    if (is_early(line))
        return early_atomic(insn, address, size, latency);
    near_atomic(insn, address, size, latency);
}

bool OutOfOrderCore::is_early(LineId line) const {
    return options_.atomic_result == atomic_result::early && memory_.is_exclusive(id_, line);
}

void OutOfOrderCore::far_atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                                Cycle latency) {
    Cycle start = window_.issue(Port::Load, access_at_) + options_.lat_issue;
    start = wait_for_word(stores_.find(address, size, start), address, size, start);
    Cycle writing = options_.lat_far_atomic + latency;
    AccessDelay delay = memory_.far_atomic(id_, line_of(address), start);
    note_wait(delay);
    note_wait(Stall::Atomic, writing);
    finish_atomic(insn, address, size, start + delay.total() + writing);
}

void OutOfOrderCore::near_atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                                 Cycle latency) {
    Cycle start = window_.issue(Port::Load, access_at_) + options_.lat_issue;
    start = wait_for_word(stores_.find(address, size, start), address, size, start);
    finish_atomic(insn, address, size, run_near(line_of(address), start, latency));
}

// Younger loads have what it wrote as they have what other stores wrote, and it drains as they do.
void OutOfOrderCore::early_atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                                  Cycle latency) {
    EarlyResult early = early_result(insn, address, size);
    const StoreQueue::Store *older = stores_.find(address, size, access_at_);
    Cycle start = wait_for_word(older, address, size, access_at_);
    Cycle done = run_near(line_of(address), start, latency);
    last_atomic_ = done;
    if (is_split(insn))
        return finish_split_atomic(insn, address, size, done);
    bool waits = options_.atomic_written == atomic_written::at_end && !insn.exchanges;
    Cycle written = std::max(done + options_.atomic_tail, window_.oldest() + 1);
    stores_.push({.address = address,
                  .size = size,
                  .data = waits ? done : std::min(early.written, done),
                  .address_form = insn.address_form,
                  .owned = true},
                 done, written, older);
    retire_atomic(std::min(early.result, done), done, written);
}

Cycle OutOfOrderCore::wait_for_word(const StoreQueue::Store *older, uint64_t address, uint32_t size,
                                    Cycle start) {
    if (!older)
        return start;
    Cycle free = start_behind(*older, address, size, start);
    note_wait(Stall::Drain, free - start);
    return free;
}

Cycle OutOfOrderCore::run_near(LineId line, Cycle start, Cycle latency) {
    Cycle writing = options_.lat_l1 + latency;
    AccessDelay delay = memory_.get_exclusive(id_, line, start, CoherenceEvent::Atomic, writing);
    note_wait(delay);
    note_wait(Stall::Atomic, writing);
    return start + delay.total() + writing;
}

void OutOfOrderCore::finish_atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                                   Cycle done) {
    last_atomic_ = done;
    if (is_split(insn))
        return finish_split_atomic(insn, address, size, done);
    Cycle written = done + options_.atomic_tail;
    last_atomic_store_ = {.address = address, .size = size, .data = done, .drained = written};
    retire_atomic(done, done, written);
}

void OutOfOrderCore::finish_split_atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                                         Cycle done) {
    entered_ = false;
    finish(done);
    run_to_access(insn);
    access_at_ = enter();
    entered_ = true;
    store(insn, address, size);
}

void OutOfOrderCore::retire_atomic(Cycle result, Cycle done, Cycle written) {
    stores_.order_after(written);
    if (options_.atomic_loads == atomic_loads::wait)
        loads_after_ = std::max(loads_after_, done);
    entered_ = false;
    finish(result, done);
}

void OutOfOrderCore::fail_conditional(const TimedInsn &insn) {
    before_access(insn);
    note_wait(Stall::Atomic, options_.cas_failure);
    entered_ = false;
    finish(std::max(access_at_, window_.oldest()) + options_.cas_failure);
}

Cycle OutOfOrderCore::run_alone(Cycle ready, bool drained, Stall cause, Cycle cycles) {
    ready = std::max(ready, window_.oldest());
    Cycle start = drained ? stores_.drained_at(ready) : ready;
    note_wait(Stall::Drain, start - ready);
    note_wait(cause, options_.lat_oldest + cycles);
    finish(start + options_.lat_oldest + cycles);
    return done_;
}

void OutOfOrderCore::full_fence(Cycle ready, Cycle latency) {
    Cycle done = run_alone(ready, true, Stall::Fence, latency);
    if (options_.full_fence == full_fence::serializing) {
        done -= std::min(latency, Cycle(options_.full_fence_hides));
        execute_after_ = std::max(execute_after_, done);
    }
    loads_after_ = std::max(loads_after_, done);
}

void OutOfOrderCore::wait_for_fence(const TimedInsn &insn, Cycle latency) {
    run_to(insn.first_op);
    Fence kind = insn.fence;
    Cycle ready = enter();
    if (is_full_fence(kind))
        full_fence(ready, latency);
    if (serializes(kind)) {
        Cycle done = is_full_fence(kind) ? done_ : run_alone(ready, false, Stall::Fence, latency);
        execute_after_ = std::max(execute_after_, done);
    } else if (!is_full_fence(kind)) { // it only orders
        if (orders_loads(kind))
            loads_after_ = std::max(loads_after_, window_.oldest());
        if (orders_stores(kind))
            stores_.order_after(stores_.drained_at(0));
        note_wait(Stall::Fence, latency);
        finish(ready + latency);
    }
}

void OutOfOrderCore::wait_for_charge(const TimedInsn &insn, Cycle cycles, bool drained) {
    run_to(insn.first_op);
    execute_after_ = std::max(execute_after_, run_alone(enter(), drained, Stall::Charge, cycles));
}

void OutOfOrderCore::wait_for_interrupt(Cycle cycles) {
    Cycle ready = std::max(execute_after_, window_.oldest());
    Cycle drained = stores_.drained_at(ready);
    note_wait(Stall::Drain, drained - ready);
    note_wait(Stall::Charge, cycles);
    execute_after_ = drained + cycles;
}

void OutOfOrderCore::wait_behind_store(Cycle cycles) {
    note_wait(Stall::Charge, cycles);
    execute_after_ = std::max(execute_after_, done_) + cycles;
}

} // namespace lockcross
