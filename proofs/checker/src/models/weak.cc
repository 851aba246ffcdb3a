#include "models/weak.h"

#include <algorithm>

namespace prove {

namespace {

bool is_memory(const Operation &op) { return op.is_plain() || op.is_atomic(); }

// The view of its thread that a store passes on.
ViewOf passes(const Operation &op) { return releases(op.order) ? kCur : kRel; }

} // namespace

void Weak::begin() {
    failed_ = false;
    begin_memory();
    for (unsigned t = 0; t < threads_; t++)
        nodes_[t] = Node::kNone;
    for (unsigned t = 0; t < threads_ && !broken(); t++) {
        nodes_[t] = program_.start(t);
        run(t);
    }
    if (!broken())
        collect_garbage();
}

void Weak::begin_memory() {
    memory_.begin();
    all_future_uses_ = memory_.all_future_uses();
    no_future_uses_ = memory_.no_future_uses();
}

void Weak::save(std::vector<uint64_t> &words) const {
    words.clear();
    for (unsigned t = 0; t < threads_; t++)
        words.push_back(nodes_[t]);
    memory_.save(words);
}

void Weak::load(const uint64_t *words, size_t) {
    failed_ = false;
    for (unsigned t = 0; t < threads_; t++)
        nodes_[t] = static_cast<NodeId>(*words++);
    memory_.load(words);
}

bool Weak::covers(const std::vector<uint64_t> &more, const std::vector<uint64_t> &less) const {
    return std::equal(more.begin(), more.begin() + threads_, less.begin()) &&
           memory_.covers(more.data() + threads_, less.data() + threads_);
}

bool Weak::ended() const {
    for (unsigned t = 0; t < threads_; t++) {
        if (at(t).op.kind != Kind::kEnd)
            return false;
    }
    return true;
}

void Weak::go_on(unsigned thread, uint64_t answer) {
    const NodeId from = nodes_[thread];
    nodes_[thread] = program_.next(from, answer);
    if (!future_uses_.empty() && !future_uses(from).has_all_of(future_uses(nodes_[thread])))
        looked_wrong_ = true;
}

// Future uses

// What the operation of a node asks for.
WeakMemory::FutureUses Weak::uses_of(const Node &node) const {
    WeakMemory::FutureUses uses = memory_.no_future_uses();
    const Operation &op = node.op;
    if (is_memory(op)) {
        for (unsigned u : node.at.unit_numbers())
            memory_.add_unit(uses, u);
        uses.store = op.is_atomic() && op.writes() && !releases(op.order);
    } else if (op.kind == Kind::kFence) {
        uses.full_fence = op.order == Order::kSeqCst;
        uses.acquire_fence = acquires(op.order);
    }
    return uses;
}

void Weak::look_ahead() {
    begin_memory(); // the layout may be another than at the last look
    future_uses_.clear();
    for (NodeId id = 0; id < program_.nodes(); id++)
        future_uses_.push_back(uses_of(program_.node(id)));
    for (bool changed = true; changed;) {
        changed = false;
        program_.each_edge([&](NodeId from, NodeId to) {
            if (future_uses_[from].has_all_of(future_uses_[to]))
                return;
            future_uses_[from].add(future_uses_[to]);
            changed = true;
        });
    }
    looked_wrong_ = false;
}

void Weak::collect_garbage() {
    future_uses_of_threads_.clear();
    for (unsigned t = 0; t < threads_; t++) {
        bool ended = at(t).op.kind == Kind::kEnd;
        future_uses_of_threads_.push_back(ended ? &no_future_uses_ : &future_uses(nodes_[t]));
    }
    memory_.collect_garbage(future_uses_of_threads_, program_.interrupts());
}

// The ways to do an access

// Visits the units of an access: the unit of the layout and its location in memory.
template <typename Visit> void Weak::each_unit(const Extent &at, Visit visit) const {
    for (unsigned u : at.unit_numbers())
        visit(program_.layout().units()[u], memory_.location(u));
}

void Weak::find_parts(const Node &node) {
    parts_.clear();
    each_unit(node.at, [&](const Unit &, const WeakMemory::Location &location) {
        if (location.is_cell())
            return;
        if (parts_.empty() || parts_.back().history != location.history)
            parts_.push_back({location.history, {}});
        parts_.back().units.add(UnitSet::only(location.unit));
    });
}

// What an access reads.
uint64_t Weak::value_of(const Node &node, const Option &option) const {
    uint64_t value = 0;
    unsigned part = 0;
    each_unit(node.at, [&](const Unit &unit, const WeakMemory::Location &location) {
        if (location.is_cell()) {
            value |= memory_.cell(node.at.word) & unit.mask();
            return;
        }
        while (parts_[part].history != location.history)
            part++;
        const History &history = memory_.history(location.history);
        value |=
            history.messages[option.reads_from[part].message[location.unit]].value & unit.mask();
    });
    return low_bytes(value >> 8 * node.at.offset, node.at.size);
}

void Weak::write_cells(const Node &node, uint64_t value) {
    uint64_t word = value << 8 * node.at.offset;
    uint64_t &cell = memory_.cell(node.at.word);
    each_unit(node.at, [&](const Unit &unit, const WeakMemory::Location &location) {
        if (location.is_cell())
            cell = (cell & ~unit.mask()) | (word & unit.mask());
    });
}

// What an update reads is next to what it writes, behind all stores of its thread. A CAS that fails
// is a load: its thread's own store may still be in the buffer.
void Weak::find_options(unsigned thread, const Node &node) {
    options_.clear();
    find_parts(node);
    Option option;
    option.writes = node.op.writes();
    if (!node.op.reads())
        return add_timestamps(thread, node, 0, option);
    add_reads(thread, node, 0, option);
    option.writes = false;
    if (node.op.kind == Kind::kCas)
        add_reads(thread, node, 0, option);
}

// Chooses what each part from this one on reads, for an access that writes or one that does not.
void Weak::add_reads(unsigned thread, const Node &node, unsigned part, Option &option) {
    if (part == parts_.size()) {
        option.value = value_of(node, option);
        bool succeeds = node.op.kind != Kind::kCas || option.value == node.op.expected;
        if (!option.writes && (node.op.kind == Kind::kLoad || !succeeds))
            options_.push_back(option);
        else if (option.writes && succeeds)
            add_timestamps(thread, node, 0, option);
        return;
    }
    std::vector<ReadsFrom> found;
    const Part &here = parts_[part];
    memory_.readable(thread, memory_.history(here.history), here.units, !option.writes, found);
    for (const ReadsFrom &read : found) {
        option.reads_from[part] = read;
        add_reads(thread, node, part + 1, option);
    }
}

// Chooses where the stores of each part from this one on go.
void Weak::add_timestamps(unsigned thread, const Node &node, unsigned part, Option &option) {
    if (part == parts_.size()) {
        options_.push_back(option);
        return;
    }
    std::vector<uint8_t> timestamps;
    const Part &here = parts_[part];
    const History &history = memory_.history(here.history);
    if (node.op.reads())
        memory_.writable_after(thread, history, here.units, passes(node.op),
                               option.reads_from[part], timestamps);
    else
        memory_.writable(thread, history, here.units, passes(node.op), timestamps);
    for (uint8_t timestamp : timestamps) {
        option.timestamps[part] = timestamp;
        add_timestamps(thread, node, part + 1, option);
    }
}

// Free of races, a plain access has one message to read and one timestamp to take: the last.
Weak::Option Weak::newest() const {
    Option option;
    for (size_t part = 0; part < parts_.size(); part++) {
        const History &history = memory_.history(parts_[part].history);
        option.timestamps[part] = static_cast<uint8_t>(history.messages.size());
        for (unsigned u : parts_[part].units)
            option.reads_from[part].message[u] = static_cast<uint8_t>(history.newest(u));
    }
    return option;
}

// Accesses

bool Weak::check_races(unsigned thread, const Node &node, bool writes) {
    if (!node.at.guarded)
        return true;
    bool plain = node.op.is_plain(), race = false;
    each_unit(node.at, [&](const Unit &, const WeakMemory::Location &location) {
        if (plain || node.op.kind != Kind::kCas || writes)
            race |= memory_.races(thread, location, plain, writes);
        if (!plain && node.op.reads())
            race |= memory_.races(thread, location, plain, false);
    });
    if (race)
        fail("race",
             std::string(plain ? "a plain " : "an atomic ") + (writes ? "store" : "load") +
                 " and another thread's access that does not happen before it",
             thread);
    return !race;
}

void Weak::do_access(unsigned thread, const Node &node, const Option &option) {
    const Operation &op = node.op;
    describe(node, option);
    tell(thread, op, op.reads() ? option.value : op.value);
    passed_on_.assign(parts_.size(), memory_.nothing());
    passed_on_.push_back(memory_.view(thread, passes(op)));
    if (op.reads()) {
        bool fails = op.kind == Kind::kCas && !option.writes;
        do_reads(thread, option, fails ? op.failure_order : op.order);
    }
    if (!check_races(thread, node, option.writes)) // with what a load has just acquired
        return;
    if (option.writes) {
        memory_.copy_events(passed_on_.back(), memory_.view(thread, passes(op)));
        do_writes(thread, node, option, op.is_update() ? updated(op, option.value) : op.value);
        check_invariant(thread);
    }
    go_on(thread, option.value);
}

// The parts of an access are accesses of their own: what one of them acquires, another does not
// release.
void Weak::do_reads(unsigned thread, const Option &option, Order order) {
    View &cur = memory_.view(thread, kCur), &acq = memory_.view(thread, kAcq);
    for (size_t part = 0; part < parts_.size(); part++) {
        History &history = memory_.history(parts_[part].history);
        const ReadsFrom &read = option.reads_from[part];
        WeakMemory::make_adjacent(history, parts_[part].units, read);
        for (unsigned u : parts_[part].units) {
            cur.see(history.slot(u), read.message[u]);
            acq.see(history.slot(u), read.message[u]);
            const View &passed_on = history.messages[read.message[u]].view;
            memory_.join(acq, passed_on);
            if (acquires(order))
                memory_.join(cur, passed_on);
            memory_.join(passed_on_[part], passed_on);
        }
    }
}

void Weak::do_writes(unsigned thread, const Node &node, const Option &option, uint64_t value) {
    for (size_t part = 0; part < parts_.size(); part++) {
        Message message;
        message.value = value << 8 * node.at.offset;
        message.units = parts_[part].units;
        message.adjacent = node.op.is_update() ? parts_[part].units : UnitSet();
        message.view = memory_.nothing();
        memory_.insert(thread, memory_.history(parts_[part].history), option.timestamps[part],
                       message, passed_on_);
    }
    for (size_t part = 0; part < parts_.size(); part++) {
        History &history = memory_.history(parts_[part].history);
        View &view = history.messages[option.timestamps[part]].view;
        view = passed_on_[part];
        memory_.join(view, passed_on_.back());
        if (!releases(node.op.order))
            continue;
        for (unsigned u : parts_[part].units)
            view.see(history.slot(u), option.timestamps[part]);
    }
    write_cells(node, value);
}

void Weak::do_plain(unsigned thread, const Node &node) {
    find_parts(node);
    const Option option = newest();
    bool writes = node.op.writes();
    uint64_t answer = writes ? 0 : value_of(node, option);
    detail_.clear();
    tell(thread, node.op, writes ? node.op.value : answer);
    if (!check_races(thread, node, writes))
        return;
    passed_on_.assign(parts_.size() + 1, memory_.nothing()); // nothing: a plain store
    if (writes)
        do_writes(thread, node, option, node.op.value);
    go_on(thread, answer);
}

void Weak::do_fence(unsigned thread, const Node &node) {
    detail_.clear();
    tell(thread, node.op, 0);
    Order order = node.op.order;
    if (order == Order::kSeqCst) {
        memory_.full_fence(thread);
    } else {
        if (acquires(order))
            memory_.view(thread, kCur) = memory_.view(thread, kAcq);
        if (releases(order))
            memory_.view(thread, kRel) = memory_.view(thread, kCur);
    }
    go_on(thread, 0);
}

// For a trace: how many younger messages are passed over.
void Weak::describe(const Node &node, const Option &option) {
    detail_.clear();
    if (!rows_)
        return;
    for (size_t part = 0; part < parts_.size(); part++) {
        const History &history = memory_.history(parts_[part].history);
        for (unsigned u : parts_[part].units) {
            unsigned from = node.op.reads() ? option.reads_from[part].message[u] + 1u
                                            : unsigned{option.timestamps[part]};
            if (unsigned count = history.count_from(u, from))
                detail_ += (detail_.empty() ? "" : "; ") + std::to_string(count) +
                           (node.op.reads() ? " newer not seen" : " placed before it");
        }
    }
}

// Steps

void Weak::run(unsigned thread) {
    unsigned steps = 0, waits = 0;
    while (!broken() && run_one(thread, waits)) {
        if (goes_round(thread, steps))
            return;
    }
}

bool Weak::run_one(unsigned thread, unsigned &waits) {
    const Node node = at(thread);
    switch (node.op.kind) {
    case Kind::kPlainLoad:
    case Kind::kPlainStore:
        do_plain(thread, node);
        return true;
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kRmw:
    case Kind::kCas:
        find_parts(node);
        if (!parts_.empty() && (node.op.kind != Kind::kStore || program_.interrupts()))
            return false;
        find_options(thread, node);
        if (options_.size() != 1)
            return false;
        do_access(thread, node, options_.front());
        return true;
    case Kind::kFence:
        if (node.op.order == Order::kSeqCst)
            return false;
        do_fence(thread, node);
        return true;
    case Kind::kInterrupt:
        return false;
    case Kind::kWait:
        if (++waits > 1)
            return false;
        go_on(thread, 0);
        return true;
    case Kind::kFail:
        fail("assertion", node.op.what, thread);
        detail_.clear();
        tell(thread, node.op, 0);
        return false;
    case Kind::kBeyond:
    case Kind::kEnd:
        return false;
    }
    return false;
}

void Weak::choices(std::vector<Choice> &choices) {
    choices.clear();
    for (uint8_t t = 0; t < threads_; t++) {
        const Node &node = at(t);
        if (node.op.kind == Kind::kEnd)
            continue;
        if (node.op.kind == Kind::kInterrupt) {
            for (uint16_t other = 0; other < threads_; other++) {
                if (other != t && node.op.value >> other & 1)
                    choices.push_back({t, false, other});
            }
            continue;
        }
        bool alone = node.op.kind == Kind::kStore && !program_.interrupts();
        uint16_t options = 1;
        if (is_memory(node.op)) {
            find_options(t, node);
            options = static_cast<uint16_t>(options_.size());
        }
        if (alone)
            choices.clear();
        for (uint16_t option = 0; option < options; option++)
            choices.push_back({t, false, option});
        if (alone)
            return;
    }
}

void Weak::take(Choice choice) {
    unsigned thread = choice.thread;
    const Node node = at(thread);
    if (is_memory(node.op)) {
        find_options(thread, node);
        do_access(thread, node, options_[choice.option]);
    } else if (node.op.kind == Kind::kFence) {
        do_fence(thread, node);
    } else if (node.op.kind == Kind::kInterrupt) {
        detail_.clear();
        tell(thread, node.op, choice.option);
        memory_.full_fence(choice.option);
        go_on(thread, choice.option);
    } else {
        go_on(thread, 0);
    }
    if (!broken())
        run(thread);
    if (broken())
        return;
    collect_garbage();
}

} // namespace prove
