#include "memory/layout.h"

#include <algorithm>
#include <bit>

namespace prove {

namespace {

enum Use { kPlainRead, kPlainWrite, kAtomicRead, kAtomicWrite };

// A store to one byte after the last would be a cut beyond the word.
uint8_t cut_at(unsigned byte) { return byte < 8 ? static_cast<uint8_t>(1u << byte) : 0; }

// A unit that is used so.
Unit used(const uint8_t *uses) {
    Unit unit;
    unit.plain_reads = uses[kPlainRead];
    unit.plain_writes = uses[kPlainWrite];
    unit.atomic_reads = uses[kAtomicRead];
    unit.atomic_writes = uses[kAtomicWrite];
    unsigned writers = unit.plain_writes | unit.atomic_writes;
    unsigned users = writers | unit.plain_reads | unit.atomic_reads;
    unit.shared = writers && std::popcount(users) > 1;
    return unit;
}

} // namespace

size_t Layout::find(uint64_t address) const {
    auto at = std::lower_bound(words_.begin(), words_.end(), address,
                               [](const Word &word, uint64_t a) { return word.address < a; });
    return static_cast<size_t>(at - words_.begin());
}

bool Layout::note(const Operation &op, unsigned thread) {
    if (!op.is_plain() && !op.is_atomic())
        return false;
    uint64_t address = op.address & ~uint64_t{7};
    unsigned offset = op.address & 7;
    bool changed = false;
    size_t index = find(address);
    if (index == words_.size() || words_[index].address != address) {
        Word word = {};
        word.address = address;
        words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(index), word);
        changed = true;
    }
    Word &word = words_[index];
    uint8_t cuts = word.cuts | cut_at(offset) | cut_at(offset + op.size);
    changed |= cuts != word.cuts;
    word.cuts = cuts;
    uint8_t joins = word.joins;
    for (unsigned i = offset + 1; op.is_atomic() && i < offset + op.size; i++)
        joins |= cut_at(i);
    changed |= joins != word.joins;
    word.joins = joins;
    auto bit = static_cast<uint8_t>(1u << thread);
    for (unsigned i = offset; i < offset + op.size; i++) {
        changed |= !(word.touched & cut_at(i));
        word.touched |= cut_at(i);
        uint8_t *uses = word.bytes[i].uses;
        Unit before = used(uses);
        if (op.reads())
            uses[op.is_plain() ? kPlainRead : kAtomicRead] |= bit;
        if (op.writes())
            uses[op.is_plain() ? kPlainWrite : kAtomicWrite] |= bit;
        Unit after = used(uses);
        changed |= after.shared != before.shared || after.plain() != before.plain() ||
                   after.atomic() != before.atomic();
    }
    return changed;
}

void Layout::settle() {
    units_.clear();
    guarded_units_ = 0;
    for (size_t w = 0; w < words_.size(); w++) {
        const Word &word = words_[w];
        for (unsigned i = 0; i < 8; i++) {
            if (!(word.touched >> i & 1))
                continue;
            bool begins = word.cuts >> i & 1 || i == 0 || !(word.touched >> (i - 1) & 1);
            if (begins) {
                Unit unit = used(word.bytes[i].uses);
                unit.word = static_cast<uint16_t>(w);
                unit.offset = static_cast<uint8_t>(i);
                unit.joined = word.joins >> i & 1;
                if (unit.shared && unit.plain())
                    unit.guarded = static_cast<uint16_t>(guarded_units_++);
                units_.push_back(unit);
            }
            units_.back().size++;
        }
    }
}

Extent Layout::locate(const Operation &op) const {
    Extent extent;
    extent.word = static_cast<uint16_t>(find(op.address & ~uint64_t{7}));
    extent.offset = op.address & 7;
    extent.size = op.size;
    auto before = [](const Unit &unit, const Extent &at) {
        return unit.word != at.word ? unit.word < at.word : unit.offset < at.offset;
    };
    auto first = std::lower_bound(units_.begin(), units_.end(), extent, before);
    extent.first_unit = static_cast<uint16_t>(first - units_.begin());
    for (auto unit = first; unit != units_.end() && unit->word == extent.word &&
                            unit->offset < extent.offset + extent.size;
         ++unit) {
        extent.units++;
        extent.shared |= unit->shared;
        extent.guarded |= unit->guarded != Unit::kNone;
    }
    return extent;
}

} // namespace prove
