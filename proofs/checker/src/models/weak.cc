#include "models/weak.h"

#include <algorithm>

namespace prove {

namespace {

uint64_t bytes_mask(unsigned offset, unsigned size) {
    return low_bytes(~uint64_t{0}, size) << 8 * offset;
}

bool is_memory(const Operation &op) { return op.is_plain() || op.is_atomic(); }

} // namespace

void Weak::begin() {
    failed_ = false;
    memory_.begin();
    for (unsigned t = 0; t < threads_; t++)
        nodes_[t] = Node::kNone;
    for (unsigned t = 0; t < threads_ && !broken(); t++) {
        nodes_[t] = program_.start(t);
        run(t);
    }
    if (!broken())
        memory_.tidy(0);
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

bool Weak::ended() const {
    for (unsigned t = 0; t < threads_; t++) {
        if (at(t).op.kind != Kind::kEnd)
            return false;
    }
    return true;
}

void Weak::go_on(unsigned thread, uint64_t answer) {
    nodes_[thread] = program_.next(nodes_[thread], answer);
}

// The ways to do an access

void Weak::find_parts(const Node &node) {
    parts_.clear();
    for (unsigned u = node.at.first_unit; u < unsigned{node.at.first_unit} + node.at.units; u++) {
        const WeakMemory::Place &place = memory_.place(u);
        if (place.list == WeakMemory::Place::kNone)
            continue;
        if (parts_.empty() || parts_.back().list != place.list)
            parts_.push_back({place.list, 0});
        parts_.back().units |= place.bit;
    }
}

// Bytes of the access that are in cells; 0 elsewhere. In their place in the word.
uint64_t Weak::value_in_cells(const Node &node) const {
    uint64_t mask = 0;
    const std::vector<Unit> &units = program_.layout().units();
    for (unsigned u = node.at.first_unit; u < unsigned{node.at.first_unit} + node.at.units; u++) {
        if (memory_.place(u).list == WeakMemory::Place::kNone)
            mask |= bytes_mask(units[u].offset, units[u].size);
    }
    return const_cast<WeakMemory &>(memory_).cell(node.at.word) & mask;
}

uint64_t Weak::value_of(const Node &node, const Option &option) const {
    uint64_t value = value_in_cells(node);
    const std::vector<Unit> &units = program_.layout().units();
    unsigned part = 0;
    for (unsigned u = node.at.first_unit; u < unsigned{node.at.first_unit} + node.at.units; u++) {
        const WeakMemory::Place &place = memory_.place(u);
        if (place.list == WeakMemory::Place::kNone)
            continue;
        while (parts_[part].list != place.list)
            part++;
        const List &list = memory_.list(place.list);
        unsigned index = option.cuts[part].index[place.slot - list.first_slot];
        value |= list.stores[index].value & bytes_mask(units[u].offset, units[u].size);
    }
    return low_bytes(value >> 8 * node.at.offset, node.at.size);
}

void Weak::write_cells(const Node &node, uint64_t value) {
    const std::vector<Unit> &units = program_.layout().units();
    uint64_t word = value << 8 * node.at.offset;
    for (unsigned u = node.at.first_unit; u < unsigned{node.at.first_unit} + node.at.units; u++) {
        if (memory_.place(u).list != WeakMemory::Place::kNone)
            continue;
        uint64_t mask = bytes_mask(units[u].offset, units[u].size);
        uint64_t &cell = memory_.cell(node.at.word);
        cell = (cell & ~mask) | (word & mask);
    }
}

void Weak::find_options(unsigned thread, const Node &node) {
    options_.clear();
    find_parts(node);
    Option option;
    if (node.op.reads())
        add_cuts(thread, node, 0, option);
    else
        add_indices(thread, node, 0, option);
}

// Chooses what each part from this one on reads.
void Weak::add_cuts(unsigned thread, const Node &node, unsigned part, Option &option) {
    if (part == parts_.size()) {
        option.value = value_of(node, option);
        option.writes = node.op.kind == Kind::kRmw ||
                        (node.op.kind == Kind::kCas && option.value == node.op.expected);
        if (option.writes)
            add_indices(thread, node, 0, option);
        else
            options_.push_back(option);
        return;
    }
    std::vector<Cut> cuts;
    bool may_forward = !node.op.is_update();
    memory_.readable(thread, parts_[part].list, parts_[part].units, may_forward, cuts);
    for (const Cut &cut : cuts) {
        option.cuts[part] = cut;
        add_cuts(thread, node, part + 1, option);
    }
}

// Chooses where the stores of each part from this one on go.
void Weak::add_indices(unsigned thread, const Node &node, unsigned part, Option &option) {
    if (part == parts_.size()) {
        option.writes = true;
        options_.push_back(option);
        return;
    }
    std::vector<uint8_t> indices;
    ViewOf passes = releases(node.op.order) ? kCur : kRel;
    if (node.op.reads())
        memory_.insertable_behind(thread, parts_[part].list, parts_[part].units, passes,
                                  option.cuts[part], indices);
    else
        memory_.insertable(thread, parts_[part].list, parts_[part].units, passes, indices);
    for (uint8_t index : indices) {
        option.indices[part] = index;
        add_indices(thread, node, part + 1, option);
    }
}

// Accesses

bool Weak::check_races(unsigned thread, const Node &node, bool writes) {
    if (!node.at.guarded)
        return true;
    bool plain = node.op.is_plain(), race = false;
    for (unsigned u = node.at.first_unit; u < unsigned{node.at.first_unit} + node.at.units; u++) {
        const WeakMemory::Place &place = memory_.place(u);
        if (plain || node.op.kind != Kind::kCas || writes)
            race |= memory_.races(thread, place, plain, writes);
        if (!plain && node.op.reads())
            race |= memory_.races(thread, place, plain, false);
    }
    if (race)
        fail("race",
             std::string(plain ? "a plain " : "an atomic ") + (writes ? "store" : "load") +
                 " and another thread's access that does not happen before it",
             thread);
    return !race;
}

void Weak::do_access(unsigned thread, const Node &node, const Option &option) {
    uint64_t answer = option.value;
    const Operation &op = node.op;
    describe(node, option);
    tell(thread, op, op.reads() ? answer : op.value);
    // What each part of an update reads is passed on by it; and, last, what its thread passes on.
    ViewOf passes = releases(op.order) ? kCur : kRel;
    passed_on_.assign(parts_.size(), memory_.nothing());
    passed_on_.push_back(memory_.view(thread, passes));
    if (op.reads()) {
        bool fails = op.kind == Kind::kCas && !option.writes;
        do_reads(thread, option, fails ? op.failure_order : op.order);
    }
    if (!check_races(thread, node, option.writes)) // with what a load has just acquired
        return;
    if (option.writes) {
        memory_.copy_known(passed_on_.back(), memory_.view(thread, passes));
        uint64_t value = op.is_update() ? updated(op, answer) : op.value;
        do_writes(thread, node, option, value);
        write_cells(node, value);
        check_invariant(thread);
    }
    go_on(thread, answer);
}

// The parts of an access are accesses of their own: what one of them acquires, another does not
// release.
void Weak::do_reads(unsigned thread, const Option &option, Order order) {
    View &cur = memory_.view(thread, kCur), &acq = memory_.view(thread, kAcq);
    for (size_t part = 0; part < parts_.size(); part++) {
        List &list = memory_.list(parts_[part].list);
        const Cut &cut = option.cuts[part];
        memory_.glue(parts_[part].list, parts_[part].units, cut);
        for (unsigned u = 0; u < list.units; u++) {
            if (!(parts_[part].units >> u & 1))
                continue;
            unsigned slot = list.first_slot + u;
            cur.positions()[slot] = std::max(cur.positions()[slot], cut.index[u]);
            acq.positions()[slot] = std::max(acq.positions()[slot], cut.index[u]);
            const View &passed_on = list.stores[cut.index[u]].view;
            memory_.join(acq, passed_on);
            if (acquires(order))
                memory_.join(cur, passed_on);
            memory_.join(passed_on_[part], passed_on);
        }
    }
}

void Weak::do_writes(unsigned thread, const Node &node, const Option &option, uint64_t value) {
    for (size_t part = 0; part < parts_.size(); part++) {
        Store store;
        store.value = value << 8 * node.at.offset;
        store.units = parts_[part].units;
        store.glued = node.op.is_update() ? parts_[part].units : 0;
        store.view = memory_.nothing();
        memory_.insert(thread, parts_[part].list, option.indices[part], store, passed_on_);
    }
    for (size_t part = 0; part < parts_.size(); part++) {
        List &list = memory_.list(parts_[part].list);
        View &view = list.stores[option.indices[part]].view;
        view = passed_on_[part];
        memory_.join(view, passed_on_.back());
        for (unsigned u = 0; releases(node.op.order) && u < list.units; u++) {
            if (parts_[part].units >> u & 1)
                view.positions()[list.first_slot + u] = option.indices[part];
        }
    }
}

// Free of races, a plain access has one store to read and one place to go: the last.
void Weak::do_plain(unsigned thread, const Node &node) {
    find_parts(node);
    Option option;
    for (size_t part = 0; part < parts_.size(); part++) {
        const List &list = memory_.list(parts_[part].list);
        option.indices[part] = static_cast<uint8_t>(list.stores.size());
        for (unsigned u = 0; u < list.units; u++) {
            unsigned last = static_cast<unsigned>(list.stores.size()) - 1;
            while (!(list.stores[last].units >> u & 1))
                last--;
            option.cuts[part].index[u] = static_cast<uint8_t>(last);
        }
    }
    bool writes = node.op.writes();
    uint64_t answer = writes ? 0 : value_of(node, option);
    detail_.clear();
    tell(thread, node.op, writes ? node.op.value : answer);
    if (!check_races(thread, node, writes))
        return;
    passed_on_.assign(parts_.size(), memory_.nothing());
    if (writes) {
        for (size_t part = 0; part < parts_.size(); part++) {
            Store store;
            store.value = node.op.value << 8 * node.at.offset;
            store.units = parts_[part].units;
            store.view = memory_.nothing();
            memory_.insert(thread, parts_[part].list, option.indices[part], store, passed_on_);
        }
        write_cells(node, node.op.value);
    }
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

// For a trace: how many younger stores are passed over.
void Weak::describe(const Node &node, const Option &option) {
    detail_.clear();
    if (!rows_)
        return;
    for (size_t part = 0; part < parts_.size(); part++) {
        const List &list = memory_.list(parts_[part].list);
        auto younger = [&](unsigned index, uint8_t units) {
            return std::count_if(list.stores.begin() + index, list.stores.end(),
                                 [&](const Store &store) { return store.units & units; });
        };
        for (unsigned u = 0; u < list.units; u++) {
            auto bit = static_cast<uint8_t>(1u << u);
            if (!(parts_[part].units & bit))
                continue;
            auto count = node.op.reads() ? younger(option.cuts[part].index[u] + 1u, bit)
                                         : younger(option.indices[part], bit);
            if (count > 0)
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
        if (!parts_.empty() && node.op.kind != Kind::kStore)
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
        uint16_t options = 1;
        if (is_memory(node.op)) {
            find_options(t, node);
            options = static_cast<uint16_t>(options_.size());
        }
        if (node.op.kind == Kind::kStore)
            choices.clear();
        for (uint16_t option = 0; option < options; option++)
            choices.push_back({t, false, option});
        if (node.op.kind == Kind::kStore)
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
    } else {
        go_on(thread, 0);
    }
    if (!broken())
        run(thread);
    if (broken())
        return;
    unsigned ended = 0;
    for (unsigned t = 0; t < threads_; t++)
        ended |= (at(t).op.kind == Kind::kEnd) << t;
    memory_.tidy(ended);
}

} // namespace prove
