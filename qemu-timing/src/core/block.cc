#include "core/block.h"
#include "base/bits.h"

#include <algorithm>

namespace lockcross {

uint32_t Block::wait_for(const RegisterTime &result) const {
    uint32_t wait = 0;
    for (const RegisterTime &use : first_use) {
        if (use.reg == result.reg && result.cycle > use.cycle) {
            wait = std::max(wait, result.cycle - use.cycle);
        }
    }
    return wait;
}

uint32_t Block::wait_of(const Block &next) const {
    if (last_next == &next)
        return last_wait;
    uint32_t wait = 0;
    for (const RegisterTime &result : late)
        wait = std::max(wait, next.wait_for(result));
    last_next = &next;
    last_wait = wait;
    return wait;
}

BlockBuilder::BlockBuilder(const Options &options, uint64_t pc)
    : options_(options), block_(std::make_unique<Block>()) {
    block_->pc = pc;
}

uint32_t BlockBuilder::latency_of(const Insn &insn) const {
    // A blocking core has waited for the access before the next instruction issues.
    uint32_t access = options_.blocking ? 0 : options_.lat_l1;
    uint32_t before = insn.loads ? access : 0;
    switch (insn.latency) {
    case Latency::Mul:
        return before + options_.lat_mul;
    case Latency::Div:
        return before + options_.lat_div;
    case Latency::Load:
        return std::max<uint32_t>(access, 1);
    default:
        return before + options_.lat_alu;
    }
}

uint32_t BlockBuilder::fetches_after_first(uint64_t address, uint32_t size) const {
    if (options_.fetch_bytes == 0)
        return 0;
    return uint32_t((address + size - 1) / options_.fetch_bytes - address / options_.fetch_bytes);
}

uint32_t BlockBuilder::slot_for(const Insn &insn, uint32_t earliest, uint32_t fetches) {
    bool memory = insn.effect != Effect::None;
    bool branch = insn.branch != Branch::None;
    bool first = block_->instructions == 0;
    bool full = used_ == options_.width || (memory && memory_used_) || (branch && branch_used_) ||
                fetches > 0;
    uint32_t cycle = std::max(earliest, (first ? 0 : full ? cycle_ + 1 : cycle_) + fetches);
    block_->fetch_cycles += fetches;
    if (first || cycle != cycle_) {
        cycle_ = cycle;
        used_ = 0;
        memory_used_ = branch_used_ = false;
        block_->issue_cycles++;
    }
    used_++;
    memory_used_ |= memory;
    branch_used_ |= branch;
    return cycle;
}

void BlockBuilder::append(const Insn &insn, uint64_t address, uint32_t size,
                          std::vector<MicroOp> &ops) {
    size_t first = ops.size();
    append_micro_ops(insn, options_.micro_operations, ops);
    for (size_t op = first; op < ops.size(); op++) {
        ops[op].address = address;
        ops[op].size = size;
    }
}

void BlockBuilder::add_behind(Decoder &decoder, const uint8_t *code, size_t size,
                              uint64_t address) {
    constexpr size_t kEnough = 64; // more than the queues hold
    if (!options_.pipeline || !block_->unpredicted || block_->branch == Branch::None)
        return;
    size_t used = 0;
    while (used < size && block_->behind.size() < kEnough) {
        Insn insn = decoder.decode(code + used, size - used, address + used);
        if (insn.size == 0)
            return;
        append(insn, address + used, insn.size, block_->behind);
        used += insn.size;
    }
}

Step *BlockBuilder::add(const Insn &insn, uint64_t address, uint32_t size) {
    uint32_t earliest = 0;
    for_each_bit(insn.reads, [&](int reg) { earliest = std::max(earliest, ready_[reg]); });
    uint32_t cycle = slot_for(insn, earliest, fetches_after_first(address, size));
    for_each_bit(insn.reads, [&](int reg) {
        if ((block_->written >> reg & 1) || needed_[reg])
            return;
        needed_[reg] = true;
        block_->first_use.push_back({uint8_t(reg), cycle});
    });
    for_each_bit(insn.writes, [&](int reg) {
        ready_[reg] = cycle + latency_of(insn);
        block_->written |= uint64_t(1) << reg;
    });
    for_each_bit(insn.address_write, [&](int reg) {
        ready_[reg] = cycle + options_.lat_alu;
        block_->written |= uint64_t(1) << reg;
    });
    block_->instructions++;
    block_->fallthrough = address + size;
    block_->branch = insn.branch;
    block_->branch_pc = address;
    size_t first_op = block_->ops.size();
    if (options_.pipeline)
        append(insn, address, size, block_->ops);
    block_->unpredicted = options_.micro_operations && insn.micro_ops[0];
    if (insn.effect == Effect::None)
        return nullptr;
    block_->steps.push_back({cycle, insn, first_op, block_->ops.size()});
    return &block_->steps.back();
}

std::unique_ptr<Block> BlockBuilder::finish() {
    block_->length = cycle_ + 1;
    for (int reg = 0; reg < kRegisters; reg++) {
        if (ready_[reg] <= block_->length)
            continue;
        block_->late.push_back({uint8_t(reg), ready_[reg] - block_->length});
        block_->latest = std::max(block_->latest, block_->late.back().cycle);
    }
    return std::move(block_);
}

} // namespace lockcross
